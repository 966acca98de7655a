import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/json/item-fields.ts';
import { events, lines, table } from '../support/tables.ts';

describe('a table in a pipe', () => {
  test('shows the known fields in their order, whole and aligned', async () => {
    expect(await lines([events])).toEqual([
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01T06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111-4222-8333-444455556666',
      '2026-11-01T06:58:12.345Z  SUCCESS        user.created            2b0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  2bf00000-1111-4222-8333-444455556666',
    ]);
  });

  test('has colour if FORCE_COLOR is set', async () => {
    const item = '{"eventType":"x","publishStatus":"FAILED"}';
    const [titles, row] = await lines([[item]], { color: 1 });
    expect([titles, row]).toEqual([
      '\u001b[1mpublishStatus\u001b[22m  \u001b[1meventType\u001b[22m',
      '\u001b[31mFAILED\u001b[39m         x',
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

  test('cuts nothing, and keeps each row on one line', async () => {
    const long = 'x'.repeat(5000);
    expect(await lines([[`{"eventType":"a\\tb\\nc\\r\\u2028\\u0085","eventId":"${long}"}`]])).toEqual([
      'eventType                          eventId',
      `a\\u0009b\\u000ac\\u000d\\u2028\\u0085  ${long}`,
    ]);
  });

  test('aligns wide, combining and right-to-left text by its width on a terminal', async () => {
    const names = ['田中太郎', 'e\u0301a', 'مرحبا', '👩‍👩‍👧', 'plain'];
    // Half a surrogate pair is printed as U+FFFD.
    const items = [...names.map((name) => JSON.stringify({ name, n: 1 })), '{"name":"\\ud800x","n":1}'];
    const rows = await lines([items]);
    expect(rows.map((row) => stringWidth(row.slice(0, row.lastIndexOf(' '))))).toEqual(rows.map(() => 9));
  });

  test('keeps its columns however many rows a page has, and a wider value pushes only its own row', async () => {
    const item = (number: number) => `{"eventType":"type-${number}","eventId":"e"}`;
    const later = Array.from({ length: 250 }, (_, number) => item(number));
    later[120] = '{"eventType":"a much longer type","eventId":"e"}';
    const [titles, , ...rows] = await lines([[item(1)], later]);
    expect(titles).toBe('eventType  eventId');
    expect(rows).toEqual(
      later.map((_, number) =>
        number === 120 ? 'a much longer type  e' : `${`type-${number}`.padEnd(11)}e`,
      ),
    );
  });

  test('shows the first scalar fields if there is no known one', async () => {
    const item = '{"deep":{"x":1},"a":1.10,"nothing":null,"b":"two","list":[1],"c":true,"d":4,"e":5,"f":6}';
    expect(await lines([[item]])).toEqual(['   a  b    c     d  e', '1.10  two  true  4  5']);
  });

  test('shows the scalars of nested fields if there are no others', async () => {
    expect(await lines([['{"deep":{"x":[1,"\\u0041"]},"none":null}']])).toEqual(['deep  none', '1 A   -']);
  });

  test('shows items that are not objects', async () => {
    expect(await lines([['"text"', '7', '[1,2]', 'null', '""']])).toEqual([
      'value',
      'text',
      '7',
      '1 2',
      '-',
      '',
    ]);
    expect(await lines([['7', '{"eventId":"e"}']])).toEqual(['value  eventId', '    7  -', '    -  e']);
    expect(await lines([['{}', '{}']])).toEqual(['value', '{}', '{}']);
  });

  test('shows fields that are missing, null or of another type', async () => {
    expect(await lines([['{"eventId":null,"createdOn":{"t":1}}', '{"publishStatus":false}']])).toEqual([
      'createdOn  publishStatus  eventId',
      '        1  -              -',
      '        -  false          -',
    ]);
  });

  test('shows only --fields', async () => {
    const fields = parseFieldPaths('payload.n,eventType,none');
    expect(await lines([events], { fields })).toEqual([
      'n  eventType               none',
      '1  invoice.payment_failed  -',
      '1  user.created            -',
    ]);
  });

  test('says that nothing matches, only on standard error', async () => {
    expect(await table([[]])).toEqual({ text: '', said: ['notice: no events match'] });
    expect(await table([], { list: 'event-types' })).toEqual({
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
    expect(await lines([[item]], { list: 'event-types' })).toEqual([titles, 'document.signed  Signed']);
  });

  test('shows bare names', async () => {
    expect(await lines([['"a"', '"b"']], { list: 'event-types' })).toEqual(['name', 'a', 'b']);
  });
});
