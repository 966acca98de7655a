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

/**
 * What string-width makes when it is loaded takes 20 ms, for characters that few texts hold: made when first used
 * instead. The build fails where the library no longer reads like this.
 */
const postponed: readonly (readonly [text: string, replacement: string])[] = [
  [
    'const segmenter = new Intl.Segmenter();',
    'let madeSegmenter; const segmenter = { segment: (text) => (madeSegmenter ??= new Intl.Segmenter()).segment(text) };',
  ],
  [
    'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;',
    'let madeRegex; const rgiEmojiRegex = { test: (text) => (madeRegex ??= RegExp("^\\\\p{RGI_Emoji}$", "v")).test(text) };',
  ],
];

const postpone: Plugin = {
  name: 'postpone-what-is-rarely-used',
  transform: {
    // cli-table3 has an older one of its own, which makes nothing.
    filter: { id: /(?<!cli-table3[\\/]node_modules[\\/])string-width[\\/]index\.js$/ },
    handler(code) {
      for (const [text, replacement] of postponed) {
        if (!code.includes(text)) this.error(`string-width has changed: it lacks ${text}`);
        code = code.replace(text, () => replacement);
      }
      return code;
    },
  },
};

export default defineConfig({
  input: { start: 'src/start.ts' },
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [leaveOut, postpone],
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
