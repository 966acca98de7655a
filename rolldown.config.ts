import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
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

/** jq reads its WebAssembly from beside itself: as base64 in a module it would be a third larger. */
const jqBeside: Plugin = {
  name: 'jq-beside',
  generateBundle() {
    const source = readFileSync(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'));
    this.emitFile({ type: 'asset', fileName: 'chunks/build/jq.wasm', source });
  },
};

/** What packages contain beyond their own code, under licences that their own files do not give. */
const contained: Readonly<Record<string, string>> = {
  'jq-wasm': `Contains jq, Copyright (C) 2012 Stephen Dolan, under the same terms;
decNumber, Copyright (c) 1995-2005 International Business Machines Corporation and others, under the ICU License;
Oniguruma, Copyright (c) 2002-2021 K.Kosako, under these terms:

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.
THIS SOFTWARE IS PROVIDED BY THE AUTHOR AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT
LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT
SHALL THE AUTHOR OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR
BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY
OF SUCH DAMAGE.`,
  undici: 'Contains llhttp, Copyright Fedor Indutny, 2018, under the same terms.',
};

/** The licences of exactly those packages whose modules are in the bundle. */
const licences: Plugin = {
  name: 'third-party-licences',
  generateBundle(_options, bundle) {
    const folders = new Set<string>();
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk') continue;
      for (const id of chunk.moduleIds) {
        const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
        if (folder && path.isAbsolute(folder)) folders.add(folder);
      }
    }
    const texts = new Map([...folders].map((folder) => licenceOf(folder)));
    const source = [...texts.keys()].sort().map((name) => `${name}\n\n${texts.get(name)}\n`);
    this.emitFile({
      type: 'asset',
      fileName: 'THIRD-PARTY-LICENSES.txt',
      source: `hooktrail contains these packages:\n\n${source.join(`\n${'-'.repeat(80)}\n\n`)}`,
    });
  },
};

function licenceOf(folder: string): [name: string, text: string] {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (file) => file.isFile() && !/[\\/]node_modules([\\/]|$)/.test(file.parentPath.slice(folder.length)),
    )
    .map((file) => path.join(file.parentPath, file.name))
    .filter((file) => /^(licen[cs]es?|copying|notice)([.\\/-]|$)/i.test(path.relative(folder, file)));
  const author = typeof manifest.author === 'string' ? manifest.author : (manifest.author?.name ?? '');
  const texts = files.map((file) => readFileSync(file, 'utf8').trim());
  const own = texts.length > 0 ? texts : [`No licence file; its manifest names ${author || 'no author'}.`];
  const more = contained[manifest.name];
  return [
    `${manifest.name} ${manifest.version} (${manifest.license})`,
    [...own, ...(more ? [more] : [])].join('\n\n'),
  ];
}

/**
 * What nearly every run loads together is one file, since each file more costs a quarter of a millisecond at every start.
 * A group holds what its first user loads anyway: nothing that only some runs need.
 */
const packages: Readonly<Record<string, string>> = {
  program: 'node_modules/commander/.*|\0unused:node:child_process',
  table: '(?<!cli-table3/)node_modules/(string-width|strip-ansi|ansi-regex|get-east-asian-width)/.*',
};
const together = Object.entries({
  program: ['program', 'tree', 'output/(reporter|palette|terminal-safe)'],
  flags: [
    'config/(numbers|setting-flags|names|nearest|url-text)',
    'events/(filter-flags|guid|instant|page-flags|preview-flags|query|stats/stats-flags)',
    'http/api-url',
    'output/(format-flags|field-path|summary-flags)',
  ],
  service: [
    'config/(file|folder|replace-file|settings|values)',
    'credentials/(dbus/[\\w-]+|keychain|keychain-error|open-vault)',
    'http/(body-memory|direct-connections|proxy|retry|service|traced|transport|transport-defaults|transport-error|content-encoding|redaction)',
    'oauth/(connect|not-signed-in|session|token/(answer|given))',
  ],
  'keychain-vault': ['credentials/(keychain-vault|parse-access|sealed|secret-files)'],
  reading: [
    'events/(adaptive-concurrency|search-all|fetch-page|item-hash|page|json-scanner|links|ledger|read-ahead|read-pages|reading)',
    'http/service-error',
    'output/(item-format|progress)',
  ],
  table: [
    'output/(cell-width|default-columns|item-cells|item-members|numbers-text|progress-text|value-text)',
    'output/json/(bytes|cursor)',
    'output/table/(cell|cell-kind|fit-columns|items|layout|rows)',
  ],
}).map(([name, modules]) => ({
  name,
  test: new RegExp(
    `(/src/(${modules.join('|')})\\.ts|${packages[name] ?? '$.'})$`.replaceAll('/', '[\\\\/]'),
  ),
}));

/** Two CommonJS files that need each other at once get half of each: such a cut of the chunks fails here, not at a user's. */
const noCycles: Plugin = {
  name: 'no-cycles-of-chunks',
  generateBundle(_options, bundle) {
    const visit = (file: string, above: readonly string[]) => {
      if (above.includes(file))
        this.error(`chunks in a circle, see "together": ${[...above, file].join(' → ')}`);
      const chunk = bundle[file];
      if (chunk?.type === 'chunk') for (const next of chunk.imports) visit(next, [...above, file]);
    };
    for (const file of Object.keys(bundle)) visit(file, []);
  },
};

export default defineConfig({
  input: { start: 'src/start.ts' },
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [leaveOut, postpone, jqBeside, licences, noCycles],
  output: {
    dir: 'dist',
    // Node starts CommonJS in two thirds of the time that it takes for modules.
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    // Named by content, so that a build beside a running program takes nothing away from it; `prepack` starts afresh.
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    codeSplitting: { includeDependenciesRecursively: false, groups: together },
    // oidc-provider tells its models apart by the names of their classes.
    keepNames: true,
    minify: true,
  },
  // oidc-provider's dependency `depd` uses it to keep a function's arity; only the sandbox loads it.
  checks: { eval: false },
});
