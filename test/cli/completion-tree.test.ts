import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command, Option } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { argumentKinds, kindOfOption, optionKinds } from '../../src/cli/command-description.ts';
import { expectedAt } from '../../src/cli/completion-answer.ts';
import { buildProgram, type Program } from '../../src/cli/program.ts';
import { describeAll, pathOf } from '../support/command-lines.ts';
import { createContext } from '../support/context.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

let program: Program;
let leaves: Command[];
beforeAll(async () => {
  const all = await describeAll();
  program = all.program;
  leaves = all.commands.map(({ command }) => command);
});

const wordsTo = (command: Command) => pathOf(command).split(' ').slice(1);
const expected = (...words: string[]) =>
  expectedAt(
    buildProgram(createContext(), async () => 0),
    words,
  );
const wordsAt = async (...words: string[]) => {
  const found = await expected(...words);
  if (!('words' in found)) throw new Error(`values of ${JSON.stringify(found.kind)}`);
  return found.words.map(({ word }) => word);
};

describe('completion and the command tree', () => {
  test('every command and every option of it is offered', async () => {
    for (const leaf of leaves) {
      const path = wordsTo(leaf);
      for (const [depth, word] of path.entries()) {
        expect(await wordsAt(...path.slice(0, depth), word.slice(0, 1))).toContain(word);
      }
      const own = leaf.options.filter(({ hidden }) => !hidden).map(({ long }) => long);
      expect(await wordsAt(...path, '--')).toEqual(expect.arrayContaining([...own, '--profile', '--help']));
    }
  });

  test('every option and argument whose values are known is in the tree', () => {
    const options = new Set(
      [program.root, ...leaves].flatMap(({ options }) => options.map(({ long }) => long)),
    );
    expect(Object.keys(optionKinds).filter((long) => !options.has(long))).toEqual([]);
    const places = leaves.flatMap((leaf) =>
      leaf.registeredArguments.map((argument) => [...wordsTo(leaf), argument.name()].join(' ')),
    );
    expect(Object.keys(argumentKinds).filter((place) => !places.includes(place))).toEqual([]);
  });

  test('every option that takes one of some words has them', () => {
    const refusalOf = ({ parseArg }: Option) => {
      try {
        parseArg?.('no such word', undefined);
      } catch (error) {
        return /'no such word': must be ([\w-]+(?:(?:, | or )[\w-]+)*)$/.exec((error as Error).message)?.[1];
      }
      return undefined;
    };
    const withWords = [program.root, ...leaves].flatMap(({ options }) =>
      options.flatMap((option) => {
        const words = refusalOf(option)?.split(/, | or /);
        return words ? [[option.long, words, kindOfOption(option)]] : [];
      }),
    );
    expect(withWords.length).toBeGreaterThan(8);
    expect(withWords.filter(([, words, kind]) => JSON.stringify(kind) !== JSON.stringify({ words }))).toEqual(
      [],
    );
  });

  test('an option that was given is offered again only if it may be repeated', async () => {
    expect(await wordsAt('events', 'search', '--limit', '3', '--')).not.toContain('--limit');
    expect(await wordsAt('events', 'search', '--type', 'a', '--')).toContain('--type');
  });

  test('nothing is offered for a free value, and no options after --', async () => {
    for (const words of [
      ['events', 'search', '--limit', ''],
      ['api', '--', '--'],
    ])
      expect(await expected(...words)).toMatchObject({ kind: 'anything' });
  });
});

test.each([
  ['help events s', ['search', 'stats']],
  ['events help se', ['search']],
  ['help exit', ['exit-codes']],
  ['config set timezone Europe/Berl', ['Europe/Berlin']],
  ['config set store ', ['keychain', 'file']],
  ['config set fields eventId,cr', ['eventId,createdOn']],
  ['events search --since ', ['15m', '1h', '24h', '7d', 'today', 'yesterday']],
  ['events search --until y', ['yesterday']],
  ['events search --fields event', ['eventType', 'eventId']],
  [
    'events search --fields eventId,',
    ['createdOn', 'publishStatus', 'eventType', 'subscriptionId'].map((name) => `eventId,${name}`),
  ],
  ['events search --fields=eventId,c', ['--fields=eventId,createdOn']],
  ['events search --where publish', ['publishStatus']],
  ['events stats --by sub', ['subscriptionId']],
  ['events search --status FAILED,', ['FAILED,SUCCESS']],
  ['events export lake --format ', ['ndjson', 'parquet']],
  ['events export lake --partition=', ['--partition=day']],
  ['events health --exit-code-for failing,', ['failing,silent', 'failing,off', 'failing,gone']],
  // A command without its group.
  ['sea', ['events']],
  ['resend', ['webhooks']],
  ['nonsense', []],
])('hooktrail %s<TAB>', async (line, expected) => {
  await using home = await createHome();
  const { stdout } = await hooktrail(['__complete', ...line.split(' ')], { env: home.env });
  const [directive, ...offers] = stdout.trimEnd().split('\n');
  expect([directive, offers.map((offer) => offer.split('\t')[0])]).toEqual(['words', expected]);
});

test('fields are those of the stored events that the line names, lists by []', async () => {
  await using home = await createHome();
  const file = path.join(home.folder, 'events.ndjson');
  const event = { eventId: 'e', lines: [{ sku: 'A' }, { qty: 1 }], body: '{"order":{"id":1}}', 'a b': 1 };
  await writeFile(file, `${JSON.stringify(event)}\n`);
  const offersFor = async (place: string, flag: string, typed: string) => {
    const line = ['__complete', 'events', 'stats', '--from', place, flag, typed];
    const { stdout } = await hooktrail(line, { env: home.env });
    return stdout
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((offer) => offer.split('\t')[0]);
  };
  for (const flag of ['--by', '--where', '--percentiles'])
    expect(await offersFor(file, flag, 'lines')).toEqual(['lines', 'lines[]', 'lines[].sku', 'lines[].qty']);
  expect(await offersFor(file, '--by', 'eventId,body')).toEqual(
    ['body', 'body.order', 'body.order.id'].map((field) => `eventId,${field}`),
  );
  expect(await offersFor(file, '--by', 'ev')).toEqual(['eventType', 'eventId']);
  for (const place of ['-', path.join(home.folder, 'none.ndjson'), home.folder])
    expect(await offersFor(place, '--by', '')).toHaveLength(5);
});
