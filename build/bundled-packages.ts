import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'rolldown';
import { version } from '../src/version.ts';

/** Third-party code that packages contain, under licences that the packages' own files do not include. */
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
  hyparquet: 'Contains snappyjs, Copyright (c) 2016 Zhipeng Jia, under the same terms.',
  'hyparquet-writer': 'Contains snappyjs, Copyright (c) 2016 Zhipeng Jia, under the same terms.',
  undici: 'Contains llhttp, Copyright Fedor Indutny, 2018, under the same terms.',
};

/** Programs that packages contain, for the bill of materials. */
const parts: Readonly<Record<string, (version: string) => Component[]>> = {
  'jq-wasm': (version) => [
    component('jq', version.replace(/^.*-jq-/, ''), 'generic', { license: { id: 'MIT' } }),
    component('oniguruma', undefined, 'generic', { license: { id: 'BSD-2-Clause' } }),
    component('decNumber', undefined, 'generic', { license: { id: 'ICU' } }),
  ],
  undici: () => [component('llhttp', undefined, 'generic', { license: { id: 'MIT' } })],
};

/** The licences of exactly those packages whose modules are in the bundle. */
export const licences: Plugin = {
  name: 'third-party-licences',
  generateBundle(_options, bundle) {
    const texts = packagesIn(bundle).map((one) => `${title(one)}\n\n${licenceText(one)}\n`);
    this.emitFile({
      type: 'asset',
      fileName: 'THIRD-PARTY-LICENSES.txt',
      source: `hooktrail contains these packages:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`,
    });
  },
};

/**
 * A CycloneDX 1.6 bill of materials of the same packages, which bundling hides from scanners. It has no
 * serial number and no time, so that the same sources give the same bytes.
 */
export const billOfMaterials: Plugin = {
  name: 'bill-of-materials',
  generateBundle(_options, bundle) {
    const packages = packagesIn(bundle);
    const self = {
      ...component('hooktrail', version, 'npm', { license: { id: 'MIT' } }),
      type: 'application',
    };
    const components = packages.map(({ name, version, license }) => ({
      ...component(name, version, 'npm', licenceChoice(license)),
      ...(parts[name] ? { components: parts[name](version) } : {}),
    }));
    const source = {
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      metadata: { component: self },
      components,
      dependencies: [{ ref: self['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) }],
    };
    this.emitFile({
      type: 'asset',
      fileName: 'hooktrail.cdx.json',
      source: `${JSON.stringify(source, null, 2)}\n`,
    });
  },
};

interface Package {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  readonly author?: string | { readonly name?: string };
}

type Bundle = Parameters<Extract<Plugin['generateBundle'], (...given: never[]) => unknown>>[1];

/** The packages whose modules are in the bundle, by name. */
function packagesIn(bundle: Bundle): Package[] {
  const folders = new Set<string>();
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== 'chunk') continue;
    for (const id of chunk.moduleIds) {
      const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
      if (folder && path.isAbsolute(folder)) folders.add(folder);
    }
  }
  const packages = [...folders].map((folder): Package => {
    const { name, version, license, author } = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    );
    return { folder, name, version, license, author };
  });
  // Two folders may hold the same package.
  const distinct = new Map(packages.map((one) => [title(one), one]));
  return [...distinct.keys()].sort().map((key) => distinct.get(key) as Package);
}

function title({ name, version, license }: Package): string {
  return `${name} ${version} (${license})`;
}

function licenceText({ folder, name, author }: Package): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (file) => file.isFile() && !/[\\/]node_modules([\\/]|$)/.test(file.parentPath.slice(folder.length)),
    )
    .map((file) => path.join(file.parentPath, file.name))
    .filter((file) => /^(licen[cs]es?|copying|notice)([.\\/-]|$)/i.test(path.relative(folder, file)))
    .sort();
  const writer = typeof author === 'string' ? author : author?.name;
  const texts = files.map((file) => readFileSync(file, 'utf8').trim());
  const own = texts.length > 0 ? texts : [`No licence file; its manifest names ${writer || 'no author'}.`];
  return [...own, ...(contained[name] ? [contained[name]] : [])].join('\n\n');
}

interface Component {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version?: string;
  readonly purl: string;
  readonly licenses: readonly object[];
}

function component(name: string, version: string | undefined, type: string, licence: object): Component {
  // The package URL specification says to percent-encode the @ of a scope.
  const purl = `pkg:${type}/${name.replace('@', '%40')}${version === undefined ? '' : `@${version}`}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    ...(version === undefined ? {} : { version }),
    purl,
    licenses: [licence],
  };
}

function licenceChoice(license: string): object {
  return /^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}
