import { defineConfig, type Plugin } from 'rolldown';

/**
 * Built-in modules that libraries load at their start for features that are never used here: commander's executables for
 * subcommands, undici's HTTP/2. Loading them would cost more than the libraries themselves.
 */
const unused: Readonly<Record<string, RegExp>> = {
  'node:child_process': /[\\/]node_modules[\\/]commander[\\/]/,
  'node:http2': /[\\/]node_modules[\\/]undici[\\/]/,
};

const leaveOut: Plugin = {
  name: 'leave-out-unused-built-ins',
  resolveId: (id, importer) => (importer && unused[id]?.test(importer) ? `\0unused:${id}` : null),
  load: (id) => (id.startsWith('\0unused:') ? 'module.exports = { constants: {} };' : null),
};

export default defineConfig({
  input: { start: 'src/start.ts' },
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [leaveOut],
  output: {
    dir: 'dist',
    // Node starts CommonJS in two thirds of the time that it takes for modules.
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    // Named by content, so that a build beside a running program takes nothing away from it; `prepack` starts afresh.
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    // oidc-provider tells its models apart by the names of their classes.
    keepNames: true,
    minify: true,
  },
  // oidc-provider's dependency `depd` uses it to keep a function's arity; only the sandbox loads it.
  checks: { eval: false },
});
