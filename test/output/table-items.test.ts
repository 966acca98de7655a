import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/output/field-path.ts';
import { createItemWriter, type FormatOptions } from '../../src/output/item-format.ts';
import { jsonText } from '../support/json-text.ts';
import { fakeOutput, fakeReporter, itemContext, pageOf } from '../support/outputs.ts';

interface Setting extends Partial<FormatOptions> {
  /** Absent: a pipe. */
  readonly width?: number;
  readonly color?: 0 | 1;
}

async function table(pages: string[][], { width, color = 0, ...more }: Setting = {}) {
  const stdout = fakeOutput(width);
  const reporter = fakeReporter(color);
  const options = { format: 'table', columns: 'events', ...more } as const;
  const writer = await createItemWriter(options, itemContext(stdout), reporter);
  for (const page of pages) await writer.write(pageOf(page));
  await writer.end();
  return { text: stdout.text, said: reporter.said };
}
const lines = async (...args: Parameters<typeof table>) =>
  (await table(...args)).text.split('\n').slice(0, -1);

const event = (status: string, type: string, id: string) =>
  JSON.stringify({
    eventId: `${id}0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b`,
    payload: { n: 1 },
    eventType: type,
    createdOn: '2026-11-01T06:58:12.345Z',
    subscriptionId: `${id}f00000-1111-4222-8333-444455556666`,
    publishStatus: status,
  });
const events = [event('FAILED', 'invoice.payment_failed', '1a'), event('SUCCESS', 'user.created', '2b')];

describe('a table in a pipe', () => {
  test('shows the known fields in their order, whole and aligned', async () => {
    expect(await lines([events])).toEqual([
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01T06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111-4222-8333-444455556666',
      '2026-11-01T06:58:12.345Z  SUCCESS        user.created            2b0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  2bf00000-1111-4222-8333-444455556666',
    ]);
  });

  test('prints the titles once, and later pages under the same columns', async () => {
    const pages = [
      ['{"eventId":"a","eventType":"x"}'],
      ['{"eventId":"bb","eventType":"much longer"}', '{"eventId":7}'],
    ];
    expect(await lines(pages)).toEqual([
      'eventType  eventId',
      'x          a',
      'much longer  bb',
      '-          7',
    ]);
  });

  test('cuts nothing, and keeps a row on its line', async () => {
    const long = 'x'.repeat(5000);
    expect(await lines([[`{"eventType":"a\\tb\\nc\\r\\u2028\\u0085","eventId":"${long}"}`]])).toEqual([
      'eventType                          eventId',
      `a\\u0009b\\u000ac\\u000d\\u2028\\u0085  ${long}`,
    ]);
  });

  test('aligns wide, combining and right-to-left text by what a terminal shows', async () => {
    const names = ['田中太郎', 'e\u0301a', 'مرحبا', '👩‍👩‍👧', 'plain'];
    // Half a surrogate pair comes out as U+FFFD.
    const items = [...names.map((name) => JSON.stringify({ name, n: 1 })), '{"name":"\\ud800x","n":1}'];
    const rows = await lines([items]);
    expect(rows.map((row) => stringWidth(row.slice(0, row.lastIndexOf(' '))))).toEqual(rows.map(() => 9));
  });

  test('shows the first scalar fields where no known one is there', async () => {
    const item = '{"deep":{"x":1},"a":1.10,"nothing":null,"b":"two","list":[1],"c":true,"d":4,"e":5,"f":6}';
    expect(await lines([[item]])).toEqual(['a     b    c     d  e', '1.10  two  true  4  5']);
  });

  test('shows nested fields as JSON where there are no others', async () => {
    expect(await lines([['{"deep":{"x":[1,"\\u0041"]},"none":null}']])).toEqual([
      'deep                none',
      '{"x":[1,"\\u0041"]}  -',
    ]);
  });

  test('shows items that are no objects', async () => {
    expect(await lines([['"text"', '7', '[1,2]', 'null', '""']])).toEqual([
      'value',
      'text',
      '7',
      '[1,2]',
      '-',
      '',
    ]);
    expect(await lines([['7', '{"eventId":"e"}']])).toEqual(['value  eventId', '7      -', '-      e']);
    expect(await lines([['{}', '{}']])).toEqual(['value', '{}', '{}']);
  });

  test('shows fields that are missing, null or of another type', async () => {
    expect(await lines([['{"eventId":null,"createdOn":{"t":1}}', '{"publishStatus":false}']])).toEqual([
      'createdOn  publishStatus  eventId',
      '{"t":1}    -              -',
      '-          false          -',
    ]);
  });

  test('shows --fields alone', async () => {
    const fields = parseFieldPaths('payload.n,eventType,none');
    expect(await lines([events], { fields })).toEqual([
      'payload.n  eventType               none',
      '1          invoice.payment_failed  -',
      '1          user.created            -',
    ]);
  });

  test('says that nothing matches on standard error alone', async () => {
    expect(await table([[]])).toEqual({ text: '', said: ['notice: no events match'] });
    expect(await table([], { columns: 'event-types' })).toEqual({
      text: '',
      said: ['notice: no event types match'],
    });
  });
});

describe('a table of event types', () => {
  test.each([
    ['{"description":"Signed","extra":1,"name":"document.signed"}', 'name             description'],
    ['{"Summary":"Signed","eventType":"document.signed"}', 'eventType        Summary'],
    ['{"display_name":"Signed","event_type":"document.signed"}', 'event_type       display_name'],
  ])('shows name and description as found: %s', async (item, titles) => {
    expect(await lines([[item]], { columns: 'event-types' })).toEqual([titles, 'document.signed  Signed']);
  });

  test('shows bare names', async () => {
    expect(await lines([['"a"', '"b"']], { columns: 'event-types' })).toEqual(['name', 'a', 'b']);
  });
});

describe('a table on a terminal', () => {
  test.each([
    [
      200,
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01 06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111-4222-8333-444455556666',
    ],
    [
      100,
      'createdOn             status   eventType             eventId                               subscr.',
      '2026-11-01 06:58:12Z  FAILED   invoice.payment_fai…  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000…',
    ],
    [
      80,
      'createdOn        status   eventType         eventId',
      '11-01 06:58:12Z  FAILED   invoice.payment…  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
    ],
    [
      60,
      'createdOn        status   eventType               eventId',
      '11-01 06:58:12Z  FAILED   invoice.payment_failed  1a0a6b7c…',
    ],
    [40, 'createdOn        status   ty…  eventId', '11-01 06:58:12Z  FAILED   in…  1a0a6b7c…'],
    [20, 'createdOn', '2026-11-01 06:58:12Z'],
  ])('fits %i columns', async (width, titles, row) => {
    expect((await lines([events], { width })).slice(0, 2)).toEqual([titles, row]);
  });

  test('colours titles and statuses, on every page alike', async () => {
    const fields = parseFieldPaths('publishStatus,n');
    const items = ['FAILED', 'SUCCESS', 'PENDING', 'ODD'].map((text) => `{"publishStatus":"${text}","n":1}`);
    const rows = [
      '\u001b[31mFAILED       \u001b[39m  1',
      '\u001b[32mSUCCESS      \u001b[39m  1',
      '\u001b[33mPENDING      \u001b[39m  1',
      'ODD            1',
    ];
    expect(await lines([items, items], { width: 80, color: 1, fields })).toEqual([
      '\u001b[1mpublishStatus\u001b[22m  \u001b[1mn\u001b[22m',
      ...rows,
      ...rows,
    ]);
  });

  test('shows nothing that acts on it', async () => {
    const item = '{"eventType":"\\u001b[31m\\u0000\u009b\u202e\\t\\n","eventId":"e"}';
    expect(await lines([[item]], { width: 80 })).toEqual([
      'eventType                                 eventId',
      '\\u001b[31m\\u0000\\u009b\\u202e\\u0009\\u000a  e',
    ]);
  });

  test('lays out text that the table library measures otherwise just the same', async () => {
    const rows = (name: string) => [`{"name":"${name}","n":1}`, '{"name":"plain","n":22}'];
    expect(await lines([rows('ab')], { width: 30 })).toEqual(['name   n', 'ab     1', 'plain  22']);
    expect(await lines([rows('a\u0300\u0e34')], { width: 30 })).toEqual([
      'name   n',
      'a\u0300\u0e34      1',
      'plain  22',
    ]);
  });

  test('cuts between characters, not in them', async () => {
    const fields = parseFieldPaths('a');
    const cut = async (text: string) =>
      (await lines([[JSON.stringify({ a: text })]], { width: 5, fields }))[1];
    expect(await cut('abcdef')).toBe('abcd…');
    expect(await cut('田中太郎')).toBe('田中…');
    expect(await cut('ab👩‍👩‍👧cd')).toBe('ab👩‍👩‍👧…');
    expect(await cut('abce\u0301\u0302fg')).toBe('abce\u0301\u0302…');
  });

  test('never exceeds its width', async () => {
    const pages = fc.array(fc.array(jsonText, { maxLength: 5 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        pages,
        fc.integer({ min: 20, max: 120 }),
        fc.constantFrom(0, 1),
        async (items, width, color) => {
          for (const line of await lines(items, { width, color })) {
            expect(stringWidth(line)).toBeLessThanOrEqual(width);
            expect(stripVTControlCharacters(line)).not.toMatch(/[\p{Cc}\u202e]/u);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('never exceeds its width with any --fields', async () => {
    const names = ['a', 'createdOn', 'publishStatus', 'eventId', 'long name of a field', '田中'];
    const items = fc.array(
      fc.record({
        a: fc.string({ unit: 'grapheme' }),
        createdOn: fc.constant('2026-11-01T06:58:12.345Z'),
        eventId: fc.uuid(),
        田中: fc.string({ unit: 'binary' }),
      }),
      { minLength: 1, maxLength: 5 },
    );
    const fields = fc
      .subarray(names, { minLength: 1 })
      .map((list) => list.map((text) => ({ text, steps: [text] })));
    await fc.assert(
      fc.asyncProperty(items, fields, fc.integer({ min: 20, max: 100 }), async (rows, columns, width) => {
        const texts = rows.map((row) => JSON.stringify(row));
        for (const line of await lines([texts, texts], { width, fields: columns })) {
          expect(stringWidth(line)).toBeLessThanOrEqual(width);
        }
      }),
      { numRuns: 300 },
    );
  });
});
