import path from 'node:path';
import { expect, test } from 'vitest';
import biome from '../../biome.json' with { type: 'json' };
import { CORES } from '../../build/mutation/cores.ts';
import { readSources } from './sources.ts';

const everything = await readSources();
const sources = everything.filter(({ path: file }) => file.startsWith('src/'));

/** Members of the contract between the tree and the commands: each command's file has them. */
const INTERFACE = new Set(['commonFlags', 'help', 'examples', 'declare', 'run']);

test('no exported name means two things', () => {
  const places = new Map<string, string[]>();
  for (const { path: file, text } of sources) {
    // The sandbox shares no code with the client: each has its own word for what the service description
    // names.
    const side = file.startsWith('src/sandbox/') ? 'sandbox' : 'client';
    const declared =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
    for (const [, name = ''] of text.matchAll(declared)) {
      if (INTERFACE.has(name)) continue;
      const key = `${side} ${name}`;
      // A constant and the type of its values may share a name.
      if (!places.get(key)?.includes(file)) places.set(key, [...(places.get(key) ?? []), file]);
    }
  }
  const doubled = [...places].filter(([, files]) => files.length > 1);
  expect(doubled).toEqual([]);
});

function globsOf(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => {
    const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
    return names === undefined ? pattern : names.split(',').map((name) => `${before}${name}${after}`);
  });
}

function filesOf(glob: string) {
  const [start = '', end] = glob.split('*');
  return everything.filter(({ path: file }) =>
    end === undefined ? file === glob : file.startsWith(start) && file.endsWith(end),
  );
}

test('a core of mutation names modules and tests that exist', () => {
  const globs = globsOf(Object.values(CORES).flatMap(({ mutate, tests }) => [...mutate, ...tests]));
  expect(globs.filter((glob) => filesOf(glob).length === 0)).toEqual([]);
});

test('a core of mutation leaves tests out whose titles exist', () => {
  const missing = Object.entries(CORES).flatMap(([core, { tests, without = '' }]) => {
    const texts = globsOf(tests).flatMap((glob) => filesOf(glob).map(({ text }) => text));
    const titles = without.split(/[()|]/).map((title) => title.trim());
    return titles
      .filter((title) => !texts.some((text) => text.includes(title)))
      .map((title) => `${core}: ${title}`);
  });
  expect(missing).toEqual([]);
});

/** Words for times and sizes, and for their limits; the name of one of these ends in a unit. */
const QUANTITY =
  /(^|_)(TIMEOUT|DELAY|INTERVAL|PATIENCE|OVERLAP|LIFETIME|DURATION|SILENCE|BEAT|GRACE|WAIT|PAUSE|AGE|MILLISECOND|SECOND|MINUTE|HOUR|DAY|WEEK|LENGTH|WIDTH|HEIGHT|MEMORY|ROOM|CAPACITY|PIECE|(?<!PAGE_)SIZE)S?$|^(LONGEST|SHORTEST|WIDEST|LARGEST|SMALLEST)(_|$)/;
const UNIT =
  /(^|_)(MS|SECONDS|MINUTES|HOURS|DAYS|BITS|BYTES|COLUMNS|ROWS|LINES|PIXELS|CHARACTERS|KEYS|EVENTS|ITEMS)$/;

test('a constant that is a time or a size says its unit', () => {
  const unitless = sources.flatMap(({ path: file, text }) =>
    [...text.matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: number)? = [\d(]/gm)]
      .map(([, name = '']) => name)
      .filter((name) => QUANTITY.test(name) && !UNIT.test(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unitless).toEqual([]);
});

test('each constant has a declaration of its own, where its comment and its unit stand', () => {
  const tuples = sources.flatMap(({ path: file, text }) =>
    [...text.matchAll(/^(?:export )?const (\[[^\]]*\]) = \[/gm)].map(([, names]) => `${file}: ${names}`),
  );
  expect(tuples).toEqual([]);
});

test('a comment is no wider than the code around it', () => {
  const wide = everything.flatMap(({ path: file, text }) =>
    text.split('\n').flatMap((line, index) => {
      const isComment = /^\s*(\/\/|\/?\*)/.test(line);
      return isComment && line.length > biome.formatter.lineWidth ? [`${file}:${index + 1}`] : [];
    }),
  );
  expect(wide).toEqual([]);
});

test('a file name says its subject out of context', () => {
  const places = new Map<string, string[]>();
  for (const { path: file } of sources) {
    const name = path.posix.basename(file);
    places.set(name, [...(places.get(name) ?? []), file]);
  }
  expect([...places.values()].filter((files) => files.length > 1)).toEqual([]);
});
