import { defineConfig } from 'rolldown';

export default defineConfig({
  input: { start: 'src/start.ts' },
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    // Named by content, so that a build beside a running program takes nothing away from it; `prepack` starts afresh.
    chunkFileNames: 'chunks/[name]-[hash].js',
    // oidc-provider tells its models apart by the names of their classes.
    keepNames: true,
    minify: { mangle: false, compress: true },
  },
  // oidc-provider's dependency `depd` uses it to keep a function's arity; only the sandbox loads it.
  checks: { eval: false },
});
