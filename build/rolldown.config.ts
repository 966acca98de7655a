import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { defineConfig, type Plugin } from 'rolldown';
import { billOfMaterials, licences } from './bundled-packages.ts';

/** Pages that modules read from beside themselves. */
const PAGES = [
  'src/report/report.html',
  'src/sign-in/redirect-page.html',
  'src/sandbox/identity/sandbox-page.html',
];

/** The name of a page in the build, by its content as those of chunks: a program that runs reads its own. */
function builtPage(page: string): string {
  const hash = createHash('sha256').update(readFileSync(page)).digest('base64url').slice(0, 8);
  const { name, ext } = path.parse(page);
  return `${name}-${hash}${ext}`;
}

/** Files beside the modules that read them. jq's WebAssembly would be a third larger in a module. */
const filesBeside: Plugin = {
  name: 'files-beside',
  transform(code, id) {
    const page = PAGES.find((one) => path.dirname(id) === path.resolve(path.dirname(one)));
    if (!page || !code.includes(`'${path.basename(page)}'`)) return undefined;
    return code.replaceAll(`'${path.basename(page)}'`, `'${builtPage(page)}'`);
  },
  generateBundle() {
    const wasm = createRequire(import.meta.url).resolve('jq-wasm/jq.wasm');
    this.emitFile({ type: 'asset', fileName: 'chunks/build/jq.wasm', source: readFileSync(wasm) });
    for (const page of PAGES)
      this.emitFile({ type: 'asset', fileName: `chunks/${builtPage(page)}`, source: readFileSync(page) });
  },
};

/** The module that a thread runs, as the source names it. */
const JQ_WORKER = './jq-worker.mjs';

/** Bundles what a thread runs into a chunk of its own. */
const threads: Plugin = {
  name: 'threads',
  transform(code, id) {
    const url = `new URL('${JQ_WORKER}', import.meta.url)`;
    if (!code.includes(url)) return undefined;
    const chunk = this.emitFile({ type: 'chunk', id: path.resolve(path.dirname(id), JQ_WORKER) });
    return code.replace(url, `new URL(import.meta.ROLLUP_FILE_URL_${chunk})`);
  },
};

/** A module of Node that a library imports and can do without here, and what the library gets instead. */
interface LeftOut {
  readonly module: string;
  readonly importer: string;
  readonly content: string;
}

const leftOut: readonly LeftOut[] = [
  // HTTP/2 is off, and Node's module for it takes 10 to 16 ms to load.
  {
    module: './client-h2.js',
    importer: 'node_modules/undici/lib/dispatcher/client.js',
    content: 'module.exports = undefined;',
  },
  // A fifth of what a request loads, used for bodies that are forms. Ours are bytes.
  {
    module: '../web/fetch/body.js',
    importer: 'node_modules/undici/lib/dispatcher/client-h1.js',
    content: 'module.exports = {};',
  },
  // Commander runs subcommands that are programs of their own, which we have none of.
  {
    module: 'node:child_process',
    importer: 'node_modules/commander/lib/command.js',
    content: 'module.exports = {};',
  },
];

/** Leaves out modules for one importer each: others, such as oidc-provider and `open`, need them. */
const withoutModules: Plugin = {
  name: 'without-modules',
  resolveId(source, importer = '') {
    const place = importer.replaceAll('\\', '/');
    const at = leftOut.findIndex((one) => one.module === source && place.endsWith(one.importer));
    return at === -1 ? undefined : `\0left-out-${at}.cjs`;
  },
  load(id) {
    const [, at] = /^\0left-out-(\d+)\.cjs$/.exec(id) ?? [];
    return leftOut[Number(at)]?.content;
  },
};

/**
 * Modules that share a chunk with everything that they import, the first ones first. Without these groups a
 * search would read 67 small files, each of which costs as much as the code of 5 KB in it.
 */
const together: readonly (readonly [name: string, module: RegExp])[] = [
  ['entry', /cli\/start\.ts$/],
  ['help', /cli\/program-help\.ts$/],
  ['program', /cli\/program\.ts$/],
  ['search', /search\/search-(command|output)\.ts$/],
  ['vaults', /secrets\/(stored-sign-ins|encrypted-file)\.ts$/],
  ['connections', /http\/(connections|certificates)\.ts$/],
];

export default defineConfig({
  input: { start: 'src/cli/start.ts' },
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // The keychain binding is native code, so it stays a separate package.
  external: ['keytar'],
  plugins: [withoutModules, filesBeside, threads, licences, billOfMaterials],
  output: {
    dir: 'dist',
    // Node starts CommonJS in two thirds of the time that it needs for modules.
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: ({ name }) => (name === 'start' ? '[name].cjs' : 'chunks/[name]-[hash].cjs'),
    // Files are named by content, so that a build does not break a running program (build.ts).
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    codeSplitting: {
      groups: together.map(([name, module], at) => ({
        name,
        test: (id) => module.test(id.replaceAll('\\', '/')),
        priority: together.length - at,
      })),
    },
    // oidc-provider identifies its models by the names of their classes.
    keepNames: true,
    minify: true,
  },
  // oidc-provider's dependency `depd` uses it to keep a function's arity; only the sandbox loads it.
  checks: { eval: false },
});
