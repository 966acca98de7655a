import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/json/item-fields.ts';
import { jsonText } from '../support/json-text.ts';
import { events, lines } from '../support/tables.ts';

describe('a table on a terminal', () => {
  test.each([
    [
      200,
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01 06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111-4222-8333-444455556666',
    ],
    [
      100,
      'createdOn             publishStatus  eventType               eventId',
      '2026-11-01 06:58:12Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
    ],
    [
      80,
      'createdOn        publishStatus  eventType   eventId',
      '11-01 06:58:12Z  FAILED         invoice.p…  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
    ],
    [
      60,
      'createdOn        publishStatus  eventType          eventId',
      '11-01 06:58:12Z  FAILED         invoice.payment_…  1a0a6b7c…',
    ],
    [40, 'createdOn        publis…  eventType', '11-01 06:58:12Z  FAILED   invoice.payme…'],
    [20, 'createdOn', '2026-11-01 06:58:12Z'],
  ])('fits %i columns', async (width, titles, row) => {
    expect((await lines([events], { width })).slice(0, 2)).toEqual([titles, row]);
  });

  test('from 80 columns on an id is whole: the date or the status that all rows share goes before the type is cut', async () => {
    const both = (items: string[]) => lines([items], { width: 80, isLast: true });
    expect(await both(events)).toEqual([
      'createdOn  publishStatus  eventType         eventId',
      '06:58:12Z  FAILED         invoice.payment…  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
      '06:58:12Z  SUCCESS        user.created      2b0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
    ]);
    const [failed = ''] = events;
    expect(await both([failed, failed.replace('2026-11-01', '2026-11-02')])).toEqual([
      'createdOn        eventType               eventId',
      '11-01 06:58:12Z  invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
      '11-02 06:58:12Z  invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
    ]);
  });

  test('cuts an id below 80 columns only, under the same title', async () => {
    const fields = parseFieldPaths('eventId,subscriptionId,createdOn');
    expect((await lines([events], { width: 60, fields })).slice(0, 2)).toEqual([
      'eventId    subscriptionId  createdOn',
      '1a0a6b7c…  1af00000-1111…  2026-11-01 06:58:12.345Z',
    ]);
    expect((await lines([events], { width: 80, fields })).slice(0, 2)).toEqual([
      'eventId                               subscriptionId  createdOn',
      '1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111…  2026-11-01 06:58:12.345Z',
    ]);
  });

  test('shows what went wrong where there is room, and no JSON', async () => {
    const event = (status: string, lastError: string) =>
      `{"createdOn":"2026-11-01T06:58:12.345Z","publishStatus":"${status}","eventType":"order.created","eventId":"1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b","delivery":{"attempts":3,"lastError":${lastError}}}`;
    const items = [
      event('SUCCESS', 'null'),
      event('FAILED', '{"httpStatus":503,"message":"Service Unavailable"}'),
    ];
    expect(await lines([items], { width: 116 })).toEqual([
      'createdOn             publishStatus  eventType      eventId                               error',
      '2026-11-01 06:58:12Z  SUCCESS        order.created  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  -',
      '2026-11-01 06:58:12Z  FAILED         order.created  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  503 Service Unavailable',
    ]);
    expect((await lines([items], { width: 90 }))[0]).not.toContain('error');
    expect((await lines([items.slice(0, 1)], { width: 200 }))[0]).not.toContain('error');
  });

  test('leaves out columns that the filters make constant if there is little room', async () => {
    const constant = new Set(['publishStatus']);
    expect((await lines([events.slice(0, 1)], { width: 80, constant }))[0]).toBe(
      'createdOn        eventType               eventId',
    );
    expect((await lines([events.slice(0, 1)], { width: 120, constant }))[0]).toBe(
      'createdOn                 publishStatus  eventType               eventId',
    );
  });

  test('colours titles and statuses, on every page alike', async () => {
    const fields = parseFieldPaths('publishStatus,n');
    const items = ['FAILED', 'SUCCESS', 'PENDING', 'ODD'].map((text) => `{"publishStatus":"${text}","n":1}`);
    const rows = [
      '\u001b[31mFAILED\u001b[39m         1',
      '\u001b[32mSUCCESS\u001b[39m        1',
      '\u001b[33mPENDING\u001b[39m        1',
      'ODD            1',
    ];
    expect(await lines([items, items], { width: 80, color: 1, fields })).toEqual([
      '\u001b[1mpublishStatus\u001b[22m  \u001b[1mn\u001b[22m',
      ...rows,
      ...rows,
    ]);
  });

  test('shows no control characters', async () => {
    const item = '{"eventType":"\\u001b[31m\\u0000\u009b\u202e\\t\\n","eventId":"e"}';
    expect(await lines([[item]], { width: 80 })).toEqual([
      'eventType                                 eventId',
      '\\u001b[31m\\u0000\\u009b\\u202e\\u0009\\u000a  e',
    ]);
  });

  test('aligns text that the table library measures differently', async () => {
    const rows = (name: string) => [`{"name":"${name}","n":1}`, '{"name":"plain","n":22}'];
    expect(await lines([rows('ab')], { width: 30 })).toEqual(['name    n', 'ab      1', 'plain  22']);
    expect(await lines([rows('a\u0300\u0e34')], { width: 30 })).toEqual([
      'name    n',
      'a\u0300\u0e34       1',
      'plain  22',
    ]);
  });

  test('cuts between characters, not inside them', async () => {
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
