import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { defineConfig, type Plugin } from 'rolldown';
import { billOfMaterials, licences } from './bundled-packages.ts';

/** jq reads its WebAssembly from beside itself: as base64 in a module it would be a third larger. */
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
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [jqBeside, licences, billOfMaterials],
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
