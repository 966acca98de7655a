import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { createItemWriter } from '../../src/formats/item-writer.ts';
import { loadDraw } from '../../src/formats/table-drawing.ts';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { loadWidths } from '../../src/terminal/cell-width.ts';
import { plain } from '../../src/terminal/palette.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, pageOf, print } from '../support/outputs.ts';
import { faultRounds, sampleSize } from '../support/seed.ts';
import { jsonText } from './json-text.ts';

await loadWidths();

const lines = async (...args: Parameters<typeof print>) =>
  (await print(...args)).text.split('\n').slice(0, -1);

const delivered = (status: string, type: string, id: string) =>
  JSON.stringify({
    eventId: `${id}0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b`,
    payload: { n: 1 },
    eventType: type,
    createdOn: '2026-11-01T06:58:12.345Z',
    subscriptionId: `${id}f00000-1111-4222-8333-444455556666`,
    publishStatus: status,
  });
const events = [
  delivered('FAILED', 'invoice.payment_failed', '1a'),
  delivered('SUCCESS', 'user.created', '2b'),
];

describe('a column of field paths', () => {
  test.each([
    [40, 'eventData.body.recipient.address.street'],
    [38, '…body.recipient.address.street'],
    [20, '…address.street'],
    [15, '…address.street'],
    [14, '…street'],
    [5, '…str…'],
  ])('of %i columns has the last names', async (width, shown) => {
    const draw = await loadDraw(plain, true);
    const column = { index: 0, title: 'found', kind: 'text', width, isPath: true } as const;
    const path = 'eventData.body.recipient.address.street';
    expect(draw([column], [[path]], false)).toEqual([shown]);
    // A drawer of ours draws what cli-table3 measures otherwise.
    expect(draw([column], [[path.replace('street', 'straße')]], false)).toEqual([
      shown.replace(/stre?e?t?/, (part) => 'straße'.slice(0, part.length)),
    ]);
  });

  test('is cut at no dot that belongs to a name', async () => {
    const draw = await loadDraw(plain, true);
    const column = { index: 0, title: 'found', kind: 'text', width: 12, isPath: true } as const;
    expect(draw([column], [['data.a\\.b.price']], false)).toEqual(['…a\\.b.price']);
    expect(draw([{ ...column, width: 10 }], [['data.a\\.b.price']], false)).toEqual(['…price']);
  });
});

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

  test('has the whole path as title where the last name is a number, or that of another column too', async () => {
    const fields = parseFieldPaths('a.id,b.id,c.id,id.x,d.list.0,id');
    const item = '{"a":{"id":1},"d":{"list":[2]}}';
    expect((await lines([[item]], { fields }))[0]).toBe('a.id  b.id  c.id  x  d.list.0  id');
    expect((await lines([['{"a":{"b":1},"b":2}']], { fields: parseFieldPaths('a.b,b') }))[0]).toBe('a.b  b');
  });

  test('shows an error once, under that title, and only of events', async () => {
    const item = '{"name":"n","error":"gone","size":1}';
    expect(await lines([[item]])).toEqual(['name  error  size', 'n     gone      1']);
    const inside = '{"name":"n","delivery":{"lastError":"gone"}}';
    expect(await lines([[inside]])).toEqual(['name  error', 'n     gone']);
    expect(await lines([[inside]], { list: 'subscriptions' })).toEqual(['name', 'n']);
  });

  test('has the column of the customer once, before that of the subscription, if an event has one', async () => {
    const nameField = { text: 'customer', steps: ['customer'] };
    const titles = async (...items: string[]) => (await lines([items], { nameField }))[0];
    const event = '{"eventType":"t","subscriptionId":"s"}';
    expect(await titles(event, event.replace('{', '{"customer":"c",'))).toBe(
      'eventType  for  subscriptionId',
    );
    expect(await titles(event)).toBe('eventType  subscriptionId');
    expect(await titles('{"eventType":"t","customer":"c"}')).toBe('eventType  for');
    expect(await titles('{"customer":"c","n":1}')).toBe('for  n');
  });

  test('has the address after the id of its subscription, and none where it is unknown', async () => {
    const names = {
      learn: async () => {},
      labelOf: (id: string) => (id === 's' ? 'hooks.example' : undefined),
    };
    const items = ['{"eventType":"t","subscriptionId":"r"}', '{"subscriptionId":"s"}', '{"eventType":"u"}'];
    expect(await lines([items], { names })).toEqual([
      'eventType  subscriptionId  address',
      't          r               -',
      '-          s               hooks.example',
      'u          -               -',
    ]);
    expect(await lines([items], { names, width: 80 })).toEqual([
      'eventType  address',
      't          r',
      '-          hooks.example',
      'u          -',
    ]);
    expect((await lines([items.slice(0, 1)], { names }))[0]).toBe('eventType  subscriptionId');
    expect((await lines([items], { names, list: 'subscriptions' }))[0]).not.toContain('address');
  });

  test('asks for the addresses of the subscriptions that it shows, and replaces no field of --fields', async () => {
    const asked: string[] = [];
    const names = {
      learn: async (ids: Iterable<string>) => void asked.push(...ids),
      labelOf: () => 'hooks.example',
    };
    const items = ['{"eventType":"t"}', '{"subscriptionId":"s"}'];
    expect((await lines([items], { names, width: 80 }))[0]).toBe('eventType  address');
    expect(asked).toEqual(['s']);
    const fields = parseFieldPaths('eventType,subscriptionId');
    expect(await lines([items], { names, width: 80, fields })).toEqual([
      'eventType  subscriptionId',
      't          -',
      '-          s',
    ]);
    expect(asked).toEqual(['s']);
  });

  test('says that nothing matches, only on standard error', async () => {
    expect(await print([[]])).toMatchObject({ text: '', said: ['notice: no events match'] });
    expect(await print([], { list: 'event-types' })).toMatchObject({
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

describe('a table on a terminal', () => {
  test.each([
    [
      200,
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01 06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111-4222-8333-444455556666',
    ],
    [
      120,
      'createdOn                 publishStatus  eventType               eventId                               subscriptionId',
      '2026-11-01 06:58:12.345Z  FAILED         invoice.payment_failed  1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b  1af00000-1111…',
    ],
    [
      100,
      'createdOn             publishStatus  eventType               subscriptionId',
      '2026-11-01 06:58:12Z  FAILED         invoice.payment_failed  1af00000-1111-4222-8333-444455556666',
    ],
    [
      80,
      'createdOn                 publishStatus  eventType               subscriptionId',
      '2026-11-01 06:58:12.345Z  FAILED         invoice.payment_failed  1af00000-1111…',
    ],
    [
      60,
      'createdOn        status   eventType               subscrip…',
      '11-01 06:58:12Z  FAILED   invoice.payment_failed  1af00000…',
    ],
    [40, 'createdOn        status   eventType', '11-01 06:58:12Z  FAILED   invoice…failed'],
    [20, 'createdOn', '2026-11-01 06:58:12Z'],
  ])('fits %i columns', async (width, titles, row) => {
    expect((await lines([events], { width })).slice(0, 2)).toEqual([titles, row]);
  });

  test('the day that all rows share is the title above their times before a text is cut', async () => {
    const both = (items: string[]) =>
      lines([items.map((item) => item.replace('payment_failed', 'payment_failed_for_the_second_time'))], {
        width: 80,
        isLast: true,
      });
    expect(await both(events)).toEqual([
      '2026-11-01  status   eventType                                   subscriptionId',
      '06:58:12Z   FAILED   invoice.payment_failed_for_the_second_time  1af00000-1111…',
      '06:58:12Z   SUCCESS  user.created                                2bf00000-1111…',
    ]);
    const [failed = ''] = events;
    expect(await both([failed, failed.replace('2026-11-01', '2026-11-02')])).toEqual([
      'createdOn        status   eventType                                   subscrip…',
      '11-01 06:58:12Z  FAILED   invoice.payment_failed_for_the_second_time  1af00000…',
      '11-02 06:58:12Z  FAILED   invoice.payment_failed_for_the_second_time  1af00000…',
    ]);
  });

  test('who the events are for is cut only as far as it tells them apart', async () => {
    const names = {
      learn: async () => {},
      labelOf: (id: string) => `hooks.harbour.example/${id.startsWith('1') ? 'invoices' : 'shipments'}/eu`,
    };
    expect(await lines([events], { width: 80, names })).toEqual([
      'createdOn        status   eventType               address',
      '11-01 06:58:12Z  FAILED   invoice.payment_failed  hooks.harbour.e…le/invoices/eu',
      '11-01 06:58:12Z  SUCCESS  user.created            hooks.harbour.e…e/shipments/eu',
    ]);
    expect(await lines([events], { width: 62, names })).toEqual([
      'createdOn        status   eventType           address',
      '11-01 06:58:12Z  FAILED   invoice.p…t_failed  hooks.ha…ices/eu',
      '11-01 06:58:12Z  SUCCESS  user.created        hooks.ha…ents/eu',
    ]);
    expect((await lines([events], { width: 50, names }))[1]).toBe(
      '11-01 06:58:12Z  FAILED   invoi…iled  hooks.…es/eu',
    );
  });

  test('beside a name the id of the subscription is the first to go, and the id of the event the second', async () => {
    const nameField = { text: 'customer', steps: ['customer'] };
    const named = events.map((item, index) => item.replace('{', `{"customer":"Harbour Freight ${index}",`));
    const titles = async (width: number) => (await lines([named], { width, nameField }))[0]?.split(/ {2,}/);
    const rest = ['createdOn', 'publishStatus', 'eventType'];
    expect(await titles(200)).toEqual([...rest, 'eventId', 'for', 'subscriptionId']);
    expect(await titles(120)).toEqual([...rest, 'eventId', 'for']);
    expect(await titles(80)).toEqual([...rest, 'for']);
  });

  test('two records of one event have their addresses, also from a later page on', async () => {
    const nameField = { text: 'customer', steps: ['customer'] };
    const named = events.map((item) => item.replace('{', '{"customer":"Harbour Freight",'));
    const [first = '', second = ''] = named;
    const again = first.replace('1af00000', '3cf00000').replace('FAILED', 'SUCCESS');
    const names = { learn: async () => {}, labelOf: (id: string) => `hooks.${id[0]}.example/in` };
    const setting = { width: 80, nameField, names };
    expect((await lines([[first, second]], setting))[0]).not.toContain('address');
    const apart = [
      'createdOn        status   eventType            for              address',
      '11-01 06:58:12Z  FAILED   invoice.p…nt_failed  Harbour Freight  hooks.1.…mple/in',
    ];
    const other = first.replace('1af00000', '3cf00000');
    expect((await lines([[first, other]], setting)).slice(0, 2)).toEqual(apart);
    expect((await lines([[first], [other]], setting))[2]).toBe(apart[0]);
    expect((await lines([[first, again]], setting))[0]).not.toContain('address');
  });

  test('the title of a short id is cut before the error goes', async () => {
    const failed = events.map((item, index) =>
      item
        .replace('{', '{"error":"503 Service Unavailable",')
        .replace('user.created', `invoice.payment_failed.${index}`),
    );
    expect(await lines([failed], { width: 78 })).toEqual([
      'createdOn        status   eventType                 subscrip…  error',
      '11-01 06:58:12Z  FAILED   invoice.payment_failed    1af00000…  503 Service Un…',
      '11-01 06:58:12Z  SUCCESS  invoice.payment_failed.1  2bf00000…  503 Service Un…',
    ]);
  });

  test('says which columns are left out, at the end or, where rows keep coming, at the start', async () => {
    const said = async (setting: object) => (await print([events], { width: 80, ...setting })).said;
    const wider = 'a wider terminal shows more, --fields chooses';
    expect(await said({})).toEqual([`notice: columns left out: eventId; ${wider}`]);
    expect(await said({ width: 30 })).toEqual([
      `notice: columns left out: eventType, eventId, subscriptionId; ${wider}`,
    ]);
    for (const quiet of [{ width: 160 }, { width: undefined }]) expect(await said(quiet)).toEqual([]);
    const reporter = fakeReporter();
    const options = { format: 'table', list: 'events', isLive: true } as const;
    const writer = await createItemWriter(options, createContext({ stdout: fakeOutput(80) }), reporter);
    await writer.write(pageOf(events));
    expect(reporter.said).toEqual([`notice: columns left out: eventId; ${wider}`]);
    await writer.write(pageOf(events));
    await writer.end?.();
    expect(reporter.said).toHaveLength(1);
  });

  test('a status that all rows share is shown, or said where there is no room for it', async () => {
    const failed = events.map((item) => item.replace('SUCCESS', 'FAILED'));
    const constant = new Set(['publishStatus']);
    const { text, said } = await print([failed], { width: 45, constant });
    expect(text.split('\n')[0]).toBe('createdOn        eventType          subscrip…');
    expect(said[0]).toContain('columns left out: publishStatus (FAILED in every row), eventId; ');
    expect((await lines([failed], { width: 60, constant }))[1]).toContain('  FAILED   ');
    // Rows to come may have another.
    expect((await print([failed], { width: 20 })).said[0]).toContain('columns left out: publishStatus, ');
  });

  test('shows 4000 characters of a text', async () => {
    const row = async (length: number, width?: number) =>
      (await lines([[`{"eventType":"${'x'.repeat(length)}"}`]], { width }))[1];
    expect(await row(4000, 5000)).toBe('x'.repeat(4000));
    expect(await row(4001, 5000)).toBe(`${'x'.repeat(4000)}…`);
    expect(await row(4001)).toBe('x'.repeat(4001));
  });

  test('keeps the id of an event that was asked for by its id', async () => {
    const first = async (isById: boolean) => (await lines([events], { width: 60, isById }))[0];
    expect(await first(true)).toContain('eventId');
    expect(await first(false)).not.toContain('eventId');
  });

  test('ends with how many were printed, on a terminal only', async () => {
    const note = (count: number) => ({ facts: [`${count} events`, 'more'], command: 'hooktrail' });
    const pages = [events, events.slice(0, 1)];
    expect((await print(pages, { width: 200, note })).said).toEqual(['notice: 3 events']);
    expect((await print(pages, { note })).said).toEqual([]);
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
    const ofLongestType = items
      .slice(1)
      .map((text) => text.replace('order.created', 'recipient.authenticated'));
    const constant = new Set(['publishStatus']);
    expect((await lines([ofLongestType], { width: 80, constant }))[1]).toBe(
      '2026-11-01 06:58:12Z  FAILED   recipient.authenticated  503 Service Unavailable',
    );
    expect((await lines([ofLongestType], { width: 70, constant }))[1]).toBe(
      '11-01 06:58:12Z  FAILED   recipient.authenticated  503 Service Unavai…',
    );
    expect((await lines([items], { width: 50 }))[0]).not.toContain('error');
    expect((await lines([items.slice(0, 1)], { width: 200 }))[0]).not.toContain('error');
  });

  test('colours titles and statuses, on every page alike', async () => {
    const fields = parseFieldPaths('publishStatus,n');
    const items = ['FAILED', 'SUCCESS', 'PENDING', 'ODD'].map((text) => `{"publishStatus":"${text}","n":1}`);
    const rows = [
      '\u001b[31mFAILED\u001b[39m         1',
      '\u001b[32mSUCCESS\u001b[39m        1',
      '\u001b[35mPENDING\u001b[39m        1',
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
      { numRuns: faultRounds(sampleSize(12, 100), 3000) },
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
      { numRuns: faultRounds(sampleSize(12, 100), 3000) },
    );
  });
});

test.each(['table', 'markdown'] as const)(
  'a %s says that a later page has columns which the first did not, as CSV does',
  async (format) => {
    const [first, late] = [
      '{"eventId":"1","other":1}',
      '{"eventId":"2","eventType":"a","last":{"error":"e"}}',
    ];
    const { said } = await print([[first], [first], [late], [late, first]], { format });
    expect(said).toEqual([
      'warning: a later page has "eventType", which the first did not: it has no column; name the columns with --fields',
      'warning: later pages also have "last.error": they have no columns either',
    ]);
    const fields = [{ text: 'eventId', steps: ['eventId'] }];
    for (const quiet of [
      await print([[first], [late]], { format, fields }),
      await print([[late], [first]], { format }),
      await print([['{"a":1}'], ['{"a":2}']], { format }),
    ])
      expect(quiet.said).toEqual([]);
  },
);

test.each(['table', 'markdown', 'csv'] as const)(
  'a %s warns of a later item that is not an object, and not of an empty one',
  async (format) => {
    const warning = [
      'warning: a later page has an item that is not an object, which the first did not: it has no column; name the columns with --fields',
    ];
    const said = async (...pages: string[][]) => (await print(pages, { format })).said;
    expect(await said(['{"eventId":"a"}'], ['7', '[1]'])).toEqual(warning);
    expect(await said(['{"value":"a"}'], ['7'])).toEqual(warning);
    const known = JSON.parse(delivered('FAILED', 'a', '1a'));
    for (const item of [known, { event: known }])
      expect(await said([JSON.stringify(item)], ['"text"'])).toEqual(warning);
    expect(await said(['{"eventId":"a"}'], ['{}'])).toEqual([]);
    expect(await said(['{"eventId":"a"}', '7'], ['8', '{}'])).toEqual([]);
  },
);

test('a resized terminal gets columns of its width, and the titles again', async () => {
  const table = await resizable();
  await table.write(events.slice(0, 1));
  table.stdout.columns = 45;
  await table.write(events.slice(1));
  expect(table.stdout.text.split('\n').map((line) => line.slice(0, 45))).toEqual([
    'createdOn                 publishStatus  even',
    '2026-11-01 06:58:12.345Z  FAILED         invo',
    'createdOn        status   eventType',
    '11-01 06:58:12Z  SUCCESS  user.created',
    '',
  ]);
});

test('on a terminal that was resized, the last rows have no day of those before as their title', async () => {
  const table = await resizable();
  await table.write(events);
  table.stdout.columns = 45;
  await table.write([(events[1] as string).replace('2026-11-01', '2026-11-02')], true);
  expect(table.stdout.text.split('\n').slice(3, 5)).toEqual([
    'createdOn        status   eventType',
    '11-02 06:58:12Z  SUCCESS  user.created',
  ]);
});

/** A table on a terminal of 80 columns, whose number may change. */
async function resizable() {
  const stdout = { ...fakeOutput(80), columns: 80, text: '' };
  stdout.write = async (chunk) => {
    stdout.text += chunk.toString();
  };
  const options = { format: 'table', list: 'events' } as const;
  const writer = await createItemWriter(options, createContext({ stdout }), fakeReporter());
  const write = (items: readonly string[], isLast?: boolean) => writer.write(pageOf(items), isLast);
  return { stdout, write };
}

describe('a table takes time in step with its size', () => {
  test('20,000 rows in a pipe are aligned as the first', async () => {
    const page = Array.from({ length: 500 }, () => events[1] as string);
    const rows = await lines(Array.from({ length: 40 }, () => page));
    expect(new Set(rows.slice(1)).size).toBe(1);
    expect(rows).toHaveLength(20_001);
  });

  test.each([
    ['which are counted', '日本語のテキスト', 4, 480_000],
    ['which the library measures', 'é👍🏽日本', 1, 120_000],
  ])('a few rows with very many letters beyond ASCII, %s', async (_, letters, rows, length) => {
    const name = letters.repeat(length / letters.length);
    const [, row = ''] = await lines([Array.from({ length: rows }, () => JSON.stringify({ name, n: 1 }))]);
    // With the square of the length it takes minutes, and so longer than a test may.
    expect(row.slice(-3)).toBe('  1');
  });
});

test('without its titles, a table leaves no room for them', async () => {
  const item = '{"name":"ab","number":1}';
  for (const width of [undefined, 80])
    expect(await lines([[item], [item]], { width, hasHeader: false })).toEqual(['ab  1', 'ab  1']);
});

test('a sample has columns that rows to come may need', async () => {
  const sample = pageOf(['{"eventId":"1","eventType":"a"}']);
  expect(await lines([['{"eventId":"2"}']], { sample })).toEqual(['eventType  eventId', '-          2']);
});

test('a sample makes columns wide enough for rows to come, and is not printed', async () => {
  const event = (eventType: string) => `{"eventType":"${eventType}","eventId":"1"}`;
  const sample = pageOf([event('recipient.authentication_failed')]);
  const pages = [[event('a')], [event('recipient.authentication_failed')]];
  expect(await lines(pages, { width: 60, sample })).toEqual([
    'eventType                        eventId',
    'a                                1',
    'recipient.authentication_failed  1',
  ]);
});

test('at 80 columns the id of an event is whole or left out, also where another one is not a GUID', async () => {
  const ids = ['3f2504e0-4f89-41d3-9a0c-000000000001', '3f2504e0-4f89-41d3-9a0c-000000000002', '5'];
  const page = ids.map(
    (eventId) =>
      `{"eventId":"${eventId}","eventType":"recipient.authenticated","createdOn":"2026-11-19T10:00:00Z","publishStatus":"SUCCESS","subscriptionId":"3f2504e0-4f89-41d3-9a0c-000000000090"}`,
  );
  const [, ...rows] = await lines([page], { width: 80 });
  expect(rows).toEqual(ids.map((id) => expect.stringContaining(id)));
});
