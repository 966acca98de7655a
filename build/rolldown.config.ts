import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { defineConfig, type Plugin } from 'rolldown';
import { billOfMaterials, licences } from './bundled-packages.ts';

/** jq loads its WebAssembly from a file beside it: as base64 in a module it would be a third larger. */
const jqBeside: Plugin = {
  name: 'jq-beside',
  generateBundle() {
    const source = readFileSync(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'));
    this.emitFile({ type: 'asset', fileName: 'chunks/build/jq.wasm', source });
  },
};

export default defineConfig({
  input: { start: 'src/start.ts' },
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // The keychain binding is native code, so it stays a separate package.
  external: ['keytar'],
  plugins: [jqBeside, licences, billOfMaterials],
  output: {
    dir: 'dist',
    // Node starts CommonJS in two thirds of the time that it needs for modules.
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    // Files are named by content, so that a build does not break a running program; `prepack` clears the folder first.
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    // oidc-provider identifies its models by the names of their classes.
    keepNames: true,
    minify: true,
  },
  // oidc-provider's dependency `depd` uses it to keep a function's arity; only the sandbox loads it.
  checks: { eval: false },
});
