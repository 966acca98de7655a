import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wordMatcher } from '../../src/items/whole-words.ts';
import { createHome } from '../support/home.ts';
import { readCsv } from '../support/outputs.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf, startSearching } from '../support/searching.ts';
import { textInShape } from '../support/shape.ts';
import { startSigningIn } from '../support/signing-in.ts';

describe('a whole word', () => {
  test.each([
    ['4711', '4711'],
    ['4711', 'order PO-4711, paid'],
    ['4711', 'ends with 4711.'],
    ['4711', '4710,4711,4712'],
    ['acme', 'ACME GmbH'],
    ['Acme GmbH', 'to acme gmbh & co'],
    ['müller', 'Frau Müller'],
    ['Caf\u00e9', 'cafe\u0301 Central'],
    ['cafe\u0301', 'Caf\u00e9'],
    ['anna@harbour.example', '<anna@harbour.example>'],
    ['2026-11-02', '2026-11-02'],
    ['0f8fad5b-d9cb-469f-a165-70867728950e', 'urn:uuid:0F8FAD5B-d9cb-469f-a165-70867728950e'],
    ['(a+b)*', 'the term (a+b)* as it is'],
  ])('%s stands in %s', (text, value) => expect(wordMatcher(text)(value)).toBe(true));

  test.each([
    ['4711', '47110'],
    ['4711', '14711'],
    ['4711', 'A4711'],
    ['4711', '4711_2'],
    ['4711', '4711.50'],
    ['4711', '0.4711'],
    ['4711', '0f8fad5b-4711-469f-a165-70867728950e'],
    ['0f8fad5b', '0f8fad5b-4711-469f-a165-70867728950e'],
    ['4711', '2026-11-02T08:00:00.4711Z'],
    ['2026', '2026-11-02T08:00:00Z'],
    ['2026-11-02', '2026-11-02T08:00:00Z'],
    ['08', 'at 08:30'],
    ['acme', 'acmeine'],
    ['cafe', 'cafe\u0301'],
    ['müll', 'Müller'],
    ['anna@harbour.example', 'johanna@harbour.example'],
  ])('%s does not stand in %s', (text, value) => expect(wordMatcher(text)(value)).toBe(false));
});

const ID = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const event = (index: number, more: object) => ({
  eventId: ID(index),
  eventType: 'order.paid',
  createdOn: `2026-11-02T00:0${index}:00.4711Z`,
  publishStatus: 'SUCCESS',
  subscriptionId: '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
  ...more,
});
const events = [
  event(1, { order: 'PO-4711', total: 1.1 }),
  event(2, { order: 'PO-47110', lines: [{ sku: 'x' }, { sku: 'b 4711' }] }),
  event(3, { order: null, note: 'caf\u00e9 \\u0041' }),
  event(4, { 4711: 'a name is no value' }),
];

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
});
afterAll(() => home[Symbol.asyncDispose]());
const find = (args: readonly string[], more: object = {}) =>
  hooktrail(['events', 'find', '--from', file, ...args], { env: home.env, ...more });

describe('events find', () => {
  test('says how many events have the text, also where --limit shows fewer', async () => {
    const { stdout } = await find(['4711', '--limit', '1']);
    expect(stdout).toContain(ID(2));
    expect(stdout).not.toContain(ID(1));
    expect(stdout).toMatch(/\n2 of 4 events have '4711' as a whole word; shown: the newest 1\n$/);
  });

  test('says on one line that there is no text that has several', async () => {
    const { stdout } = await find(['no\tsuch\nword']);
    expect(stdout).toBe("none of 4 events have 'no\\u0009such\\u000aword' as a whole word\n");
  });

  test('names the field that has the text, and no longer number, time, GUID or name of a member', async () => {
    const { code, stdout, stderr } = await find(['4711']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows.slice(0, 3)).toEqual([
      ['createdOn', 'publishStatus', 'eventType', 'subscriptionId', 'found in', 'eventId'],
      [
        '2026-11-02 00:02:00.4711Z',
        'SUCCESS',
        'order.paid',
        '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
        'lines.1.sku',
        ID(2),
      ],
      [
        '2026-11-02 00:01:00.4711Z',
        'SUCCESS',
        'order.paid',
        '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
        'order',
        ID(1),
      ],
    ]);
    expect(stdout).toMatch(/\n2 of 4 events have '4711' as a whole word\n$/);
  });

  test('passes items through exactly, in an array of profile, field and item', async () => {
    const exact = (item: object) => textInShape(item).replace('"BIG"', '9007199254740993');
    const big = event(5, { big: 'BIG' });
    const other = path.join(home.folder, 'big.ndjson');
    await writeFile(other, exact(big));
    const { stdout } = await hooktrail(['events', 'find', '9007199254740993', '--from', other, '--json'], {
      env: home.env,
    });
    expect(stdout).toBe(`[\n{"profile":null,"field":"big","item":${exact(big)}}\n]\n`);
  });

  test('finds ids by their short names, in braces too, and decodes escapes', async () => {
    const fieldsOf = async (text: string) =>
      JSON.parse((await find([text, '--json'])).stdout).map(({ field }: { field: string }) => field);
    expect(await fieldsOf(`{${ID(2)}}`)).toEqual(['eventId']);
    expect(await fieldsOf('22284310c2cd4a3ea9e81d7b8995da7f')).toEqual(Array(4).fill('subscriptionId'));
    expect(await fieldsOf('CAFÉ')).toEqual(['note']);
    expect(await fieldsOf('1.1')).toEqual(['total']);
  });

  test('has lines of CSV and NDJSON, Markdown with its command, and nothing where nothing is', async () => {
    const csv = readCsv((await find(['PO-4711', '--csv'])).stdout);
    expect(csv[0]).toEqual([
      ...['profile', 'createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'],
      ...['for', 'address', 'field'],
    ]);
    expect(csv).toHaveLength(2);
    expect((await find(['4711', '--ndjson', '-n', '1'])).stdout.split('\n')).toHaveLength(2);
    const markdown = (await find(['PO-4711', '-o', 'markdown'])).stdout;
    expect(markdown).toMatch(/\| order\.paid \|/);
    expect(markdown).toContain('hooktrail events find --from');
    const { stdout: ofOne } = await find(['none', '--where', 'order = PO-4711']);
    expect(ofOne).toBe("none of 1 event has 'none' as a whole word\n");
    expect((await find(['none', '--json'])).stdout).toBe('[]\n');
    expect((await find(['none', '--exit-code'])).code).toBe(0);
    expect((await find(['PO-4711', '--exit-code'])).code).toBe(10);
    expect((await find([' '])).code).toBe(2);
  });

  test('says who it is for by the name-field, and takes words of it for --subscription with --from', async () => {
    const named = path.join(home.folder, 'named.ndjson');
    const customers = ['Harbour Freight', 'Harbour Lights', 'Hill'];
    await writeFile(
      named,
      ndjsonOf(customers.map((customer, index) => event(index + 1, { customer, order: 'PO-4711' }))),
    );
    const env = { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer' };
    const run = (...args: string[]) => hooktrail(['events', ...args, '--from', named], { env });
    expect((await run('find', 'PO-4711')).stdout).toMatch(/ {2}Harbour Freight {2,}/);
    expect((await run('count', '--subscription', 'harbour')).stdout).toBe('2\n');
    expect((await run('count', '--subscription', 'Freight')).stdout).toBe('1\n');
    const { stderr } = await run('count', '--subscription', 'Harbur');
    expect(stderr).toMatch(
      /no event is for 'Harbur', by its \S*customer; did you mean Harbour \S+\? \(3 events looked at\)/,
    );
    const unnamed = ['events', 'count', '--from', named, '--subscription', 'harbour'];
    expect((await hooktrail(unnamed, { env: home.env })).stderr).toBe(
      "error: --subscription: 'harbour' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e\n" +
        'next: stored events name no address; words choose them once the field is known that says who an event is for: `hooktrail config set name-field PATH`\n',
    );
    // A name may have a comma.
    const { stderr: list } = await run('count', '--subscription', 'Hill,Freight');
    expect(list).toMatch(
      /no event is for 'Hill,Freight', by its \S*customer; a comma belongs to the name: give --subscription again for each of several \(3 events looked at\)/,
    );
    expect((await run('count', '--subscription', 'Hill', '--subscription', 'Freight')).stdout).toBe('2\n');
    expect((await run('search')).stdout).toMatch(/eventId +for +subscriptionId\n/);
  });

  test('shows the last names of a long path on a narrow terminal', async () => {
    const file = path.join(home.folder, 'deep.ndjson');
    const deep = { eventDetails: { recipientOfDelivery: { address: { street: 'Quay 4711' } } } };
    await writeFile(file, ndjsonOf([event(1, deep), event(2, deep)]));
    const run = { env: home.env, terminal: 80 };
    const { stdout } = await hooktrail(['events', 'find', '4711', '--from', file], run);
    expect(stdout).toMatch(/ …(recipientOfDelivery\.)?address\.street\n/);
  });

  test('looks back seven days unless told otherwise', async () => {
    await using at = await startSearching({ events: 0 });
    const day = 86_400_000;
    const now = Date.parse('2026-11-20T12:00:00Z');
    for (const days of [1, 6, 8])
      at.sandbox.control.addEvent({
        createdOn: new Date(now - days * day).toISOString(),
        json: '{"order":"PO-4711"}',
      });
    const numberOf = async (...args: string[]) =>
      JSON.parse((await at.run(['events', 'find', 'PO-4711', '--json', ...args])).stdout).length;
    expect(await numberOf()).toBe(2);
    expect(await numberOf('--since', '30d')).toBe(3);
    expect(await numberOf('--until', '5d')).toBe(2);
    const [found] = JSON.parse((await at.run(['events', 'find', 'PO-4711', '--json'])).stdout);
    expect(found).toMatchObject({ profile: 'default', field: 'order', item: { order: 'PO-4711' } });
  });

  test('--all-profiles looks in each that is signed in, whatever addresses the environment has, and names one that fails', async () => {
    await using at = await startSigningIn({ events: 0 });
    at.sandbox.control.addEvent({ json: '{"order":"PO-4711"}' });
    const signIn = (name: string) => at.run(['login', '--profile', name]);
    expect([(await signIn('one')).code, (await signIn('two')).code]).toEqual([0, 0]);
    const run = (...args: string[]) => at.run(['events', 'find', 'PO-4711', '--all-profiles', ...args]);
    const { code, stdout, stderr } = await run('--json', '--jq', '[.[].profile]');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '["one","two"]\n', stderr: '' });
    expect((await run()).stdout).toMatch(/^profile +createdOn/);
    const other = await startSigningIn({ events: 0 });
    const env = { ...other.env, ...at.home.env };
    expect((await hooktrail(['login', '--profile', 'three'], { env })).code).toBe(0);
    expect((await run('--jq', '[.[].profile]')).stdout).toBe('["one","two"]\n');
    await other[Symbol.asyncDispose]();
    expect(await run('--jq', '[.[].profile]')).toMatchObject({
      code: 1,
      stdout: '["one","two"]\n',
      stderr: expect.stringMatching(
        /^error: not looked in, since that failed: three\n {2}three: .*\nnext: what was found elsewhere is complete; `hooktrail status --check --profile three` says more\n$/,
      ),
    });
    expect((await run('--profile', 'one')).code).toBe(2);
    expect((await run('--from', file)).code).toBe(2);
  });
});

test('without a hit on a terminal, find offers a longer time before other ways to search', async () => {
  await using searching = await startSearching({ events: 3 });
  const terminal = searching.start(['events', 'find', 'nowhere'], { terminal: 200 });
  expect((await terminal.finished).code).toBe(0);
  expect(terminal.screen).toContain(
    'next: `--since 30d` looks further back; `hooktrail events search --grep nowhere` also finds it',
  );
});
