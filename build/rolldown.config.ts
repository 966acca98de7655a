import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { defineConfig, type Plugin } from 'rolldown';

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

export default defineConfig({
  input: { start: 'src/start.ts' },
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [jqBeside, licences],
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
