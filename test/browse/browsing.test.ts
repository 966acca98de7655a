import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventList } from '../../src/browse/browse-rows.ts';
import {
  eventLines,
  type ListedColumns,
  layOutList,
  markTexts,
  screenLines,
} from '../../src/browse/browse-views.ts';
import { Browsing } from '../../src/browse/browsing.ts';
import type { Key } from '../../src/browse/full-screen.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { loadDraw } from '../../src/formats/table-drawing.ts';
import { parseFieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import type { ReadPage } from '../../src/paging/page.ts';
import { readPage } from '../../src/paging/page.ts';
import { cellWidth, loadWidths } from '../../src/terminal/cell-width.ts';
import { plain } from '../../src/terminal/palette.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { faultRounds, sampleSize } from '../support/seed.ts';

await loadWidths();
const look = {
  marked: [],
  draw: await loadDraw(plain, true),
  palette: plain,
  unicode: true,
  place: '',
  help: ['q  quits'],
};
const FILTERS = new EventFilters();
const KOLKATA = new TimeZone('Asia/Kolkata');
const clock = { now: () => Date.UTC(2026, 10, 21) };
const listed = { fields: undefined, nameField: undefined };
const event = (number: number, extra = '') => `{"eventId":"id-${number}","publishStatus":"FAILED"${extra}}`;
const named = (name: string): Key => ({ name, sequence: '' });
const typed = (text: string): Key[] => [...text].map((sequence) => ({ sequence, name: sequence }));

const identified = (items: readonly string[]) => readPage(Buffer.from(`{"items":[${items}]}`)).items;

/** Pages of a given size, and the number of those that were read. */
async function browsing(
  items: readonly string[],
  { pageSize = 10, rows = 8, columns = 60, total = true, facts = {} as Partial<ListedColumns> } = {},
) {
  const read = { pages: 0, lists: 0, isDown: false };
  async function* pages(): AsyncGenerator<ReadPage> {
    if (read.isDown) throw new Error('the service is down');
    for (let from = 0; from < items.length; from += pageSize) {
      read.pages++;
      yield {
        items: identified(items.slice(from, from + pageSize)),
        total: total ? items.length : undefined,
      };
    }
  }
  const size = { rows, columns };
  const open = (failedOnly: boolean) => {
    read.lists++;
    return new EventList(failedOnly ? FILTERS.withStatuses('FAILED') : FILTERS, pages());
  };
  const state = new Browsing({
    open,
    isFailedOnly: false,
    clock,
    screen: size,
    zones: [UTC, KOLKATA],
    linesOf: (item, columns, zone) => eventLines(item, columns, zone, plain),
    layOut: (events, constant, ...where) => layOutList(events, { ...listed, constant, ...facts }, ...where),
    copyId: async (item) => `copied the id of ${item.text(0)}`,
    copyEvent: async (item) => `copied ${item.text(0)}`,
    report: async (narrowings) => {
      throw new Error(`no report with ${narrowings.map(({ text }) => text)}`);
    },
    onChange: () => {},
  });
  const settled = async () => {
    state.settle();
    for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  };
  const press = async (...keys: Key[]) => {
    let isOver = false;
    for (const key of keys) isOver = state.press(key);
    await settled();
    return isOver;
  };
  const lines = () => screenLines(state, look);
  const current = () => state.current?.text(0).toString();
  const places = () => state.rows.items.map((item) => state.list.items.indexOf(item));
  await settled();
  return { state, press, lines, read, size, current, places };
}
const many = Array.from({ length: 95 }, (_, number) => event(number));

test('w takes a list of values, and reads no file', async () => {
  const { lines, press } = await browsing(many);
  await press(...typed('weventId in (id-3, "id-5")'), named('return'));
  expect(lines()[0]).toBe('95 events, 2 with eventId in (id-3, "id-5")');
  await press(named('escape'), ...typed('weventId in @ids.txt'), named('return'));
  expect(lines().at(-1)).toBe('w: @ids.txt names a file, and no files are read here');
  await press(named('escape'), ...typed('w"eventId in (id-3)"'), named('return'));
  expect(lines()[0]).toBe('95 events, 0 with "eventId in (id-3)"');
});

test('the list shows who an event is for, where a field names that', async () => {
  const items = [event(1, ',"subscriptionId":"s","customer":{"name":"Harbour Freight"}'), event(2)];
  const nameField = parseFieldPath('customer.name', 'name-field');
  const { lines: shown } = await browsing(items, { columns: 100, facts: { nameField } });
  const lines = shown().map(stripVTControlCharacters);
  expect(lines[1]?.trim().split(/ {2,}/)).toEqual(['publishStatus', 'eventId', 'for', 'subscriptionId']);
  expect(lines[2]).toMatch(/id-1 +Harbour Freight +s$/);
  expect(lines[3]).toMatch(/id-2 +- +-$/);
});

test('a locale without UTF-8 gets cut lines in ASCII', async () => {
  const { state } = await browsing([event(1, `,"name":"${'long '.repeat(20)}"`)], { columns: 60 });
  const screen = (unicode: boolean) => screenLines(state, { ...look, unicode }).join('\n');
  expect(screen(true)).toContain('…');
  expect(screen(false)).not.toMatch(/[^\x20-\x7e\n]/);
});

test('the list shows times in the zone, and again in another', async () => {
  const items = [event(1, ',"createdOn":"2026-11-20T12:00:00.1234567Z"')];
  const { press, lines } = await browsing(items, { columns: 100 });
  const shown = () => lines()[2]?.slice(2).split('  ')[0];
  expect(shown()).toBe('2026-11-20 12:00:00.1234567Z');
  await press(...typed('z'));
  expect([shown(), lines().at(-1)]).toEqual(['2026-11-20 17:30:00.1234567+05:30', 'times in Asia/Kolkata']);
  await press(...typed('z'));
  expect(lines().at(-1)).toBe('times in UTC');
});

test.each([
  ['z', 'createdOn > 2026-11-20 17:00', 'createdOn > 2026-11-20T17:00:00+05:30', [0]],
  ['', 'createdOn > 2026-11-20 17:00', 'createdOn > 2026-11-20T17:00Z', []],
  ['zz', 'createdOn <= 2026-11-20 11:00', 'createdOn <= 2026-11-20T11:00Z', [1]],
  ['', 'createdOn < 2026-11-21', 'createdOn < 2026-11-21T00:00Z', [0, 1]],
  ['z', 'createdOn > 2d', 'createdOn > 2026-11-19T05:30:00+05:30', [0, 1]],
  ['z', 'size > 1795328922', 'size > 1795328922', [1]],
  ['z', 'name = friday', 'name = friday', [0]],
])('after the keys %j a time of "%s" is that of the zone that is shown', async (keys, text, exact, found) => {
  const items = [
    event(1, ',"createdOn":"2026-11-20T12:00:00Z","size":1,"name":"friday"'),
    event(2, ',"createdOn":"2026-11-20T11:00:00Z","size":1795328923'),
  ];
  const { press, lines, places } = await browsing(items, { columns: 100 });
  await press(...typed(`${keys}w${text}`), named('return'));
  expect(lines()[0]).toBe(`2 events, ${found.length} with ${exact}`);
  expect(places()).toEqual(found);
  await press(...typed('o'));
  expect(lines().at(-1)).toBe(`no report with ${exact}`);
});

describe('browsing', () => {
  test('reads two screens ahead and no further, and everything if the user keeps going to the end', async () => {
    const { press, read, state, places } = await browsing(many);
    expect(read.pages).toBe(2);
    while (!state.list.ended) await press(named('end'));
    expect(places()).toHaveLength(95);
    expect(read.pages).toBe(10);
  });

  test('moves by keys, keeps the selection on the screen, and stops at both ends', async () => {
    const { press, lines, current } = await browsing(many);
    await press(named('up'));
    expect(current()).toContain('id-0"');
    await press(named('down'), named('pagedown'), ...typed('j'));
    expect(current()).toContain('id-7"');
    expect(lines().find((line) => line.startsWith('❯'))).toContain('id-7');
    await press(...typed('G'), ...typed('G'), named('home'));
    expect(current()).toContain('id-0"');
  });

  test('filters as the user types, by all words ignoring case, and undoes that', async () => {
    const items = many.map((text, number) =>
      number % 10 === 3 ? event(number, ',"why":"Time out ÄÖ"') : text,
    );
    const { press, state, lines, places } = await browsing(items, { pageSize: 100 });
    await press(...typed('/time äö'));
    expect(places()).toEqual([3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
    expect(lines()[0]).toBe('95 events, 10 with /time äö▏');
    // These letters are keys outside of the filter.
    await press(...typed('qyfo'));
    expect(places()).toEqual([]);
    expect(lines()[2]).toBe('  no event read so far matches');
    for (let times = 0; times < 4; times++) await press(named('backspace'));
    expect(places()).toHaveLength(10);
    await press(named('return'), named('down'));
    expect(state.current?.text(0).toString()).toContain('id-13"');
    await press(...typed('/'), named('escape'));
    // `/` edits the filter that is there, and esc goes back to before it.
    expect(places()).toHaveLength(95);
  });

  test('a filter that nothing matches does not read forever', async () => {
    const { press, read, state } = await browsing(many, { pageSize: 1 });
    const before = read.pages;
    await press(...typed('/'), ...typed('z'));
    expect(read.pages - before).toBeLessThanOrEqual(21);
    expect(state.list.ended).toBe(false);
  });

  test('opens an event whole, scrolls it, and comes back to its place', async () => {
    const long = `,"list":[${Array.from({ length: 40 }, (_, number) => number).join(',')}]`;
    const { press, lines, state } = await browsing([event(0), event(1, long), event(2)]);
    await press(named('down'), named('return'));
    expect(lines().slice(0, 3)).toEqual(['event, lines 1 to 6 of 46', '{', '  "eventId": "id-1",']);
    await press(named('end'));
    expect(lines().slice(-3, -1)).toEqual(['  ]', '}']);
    await press(named('escape'));
    expect(state.rows.selected).toBe(1);
    expect(lines()[3]).toMatch(/^❯ /);
  });

  test('f reads failed events only, and all again', async () => {
    const { press, read, state } = await browsing(many);
    await press(...typed('f'));
    expect([state.list.failedOnly, read.lists, state.rows.count > 8]).toEqual([true, 2, true]);
    await press(...typed('f'));
    expect([state.list.failedOnly, read.lists]).toEqual([false, 3]);
  });

  test('esc goes back by one level, and never leaves: q does', async () => {
    const items = many.map((_, number) => event(number, `,"why":${number % 3}`));
    const { press, lines, state } = await browsing(items, { pageSize: 100, columns: 80 });
    const titles: string[] = [];
    const go = async (...keys: Key[]) => {
      expect(await press(...keys)).toBe(false);
      titles.push(lines()[0] as string);
    };
    await press(...typed('G'));
    await go(...typed('/id-'), named('return'));
    await go(...typed('gwhy'), named('return'));
    await go(named('down'), named('return'));
    await go(...typed('wid-7'), named('return'));
    await go(named('return'));
    const down = [...titles];
    expect(down).toEqual([
      '95 events, 95 with /id-',
      '95 events, 95 with /id-, 3 groups by why',
      '95 events, 32 with /id- and why = 1',
      '95 events, 5 with /id- and "id-7" and why = 1',
      'event, lines 1 to 5 of 5',
    ]);
    for (let level = 0; level < 4; level++) await go(named('escape'));
    expect(titles.slice(5)).toEqual(down.toReversed().slice(1));
    expect(state.kind).toBe('events');
    await go(named('escape'));
    await go(named('escape'));
    expect([lines()[0], lines().at(-1)]).toEqual(['95 events', 'this is the whole list; q quits']);
    expect(await press(...typed('q'))).toBe(true);
  });

  test('after a group the groups are there again, with the selection', async () => {
    const items = many.map((_, number) => event(number, `,"why":${number % 3}`));
    const { press, lines } = await browsing(items, { pageSize: 100, columns: 80 });
    await press(...typed('gwhy'), named('return'), named('down'), named('down'));
    const before = lines();
    await press(named('return'), named('escape'));
    expect(lines()).toEqual(before);
  });

  test('in groups f and r read again, and a key that does nothing says so', async () => {
    const items = many.map((_, number) => event(number, `,"why":${number % 3}`));
    const { press, lines, state, read } = await browsing(items, { pageSize: 100, columns: 80 });
    await press(...typed('gwhy'), named('return'), ...typed('f'));
    expect([state.kind, state.list.failedOnly, read.lists]).toEqual(['groups', true, 2]);
    await press(...typed('r'));
    expect([lines()[0], read.lists]).toEqual(['95 failed events, 3 groups by why', 3]);
    await press(...typed('w'));
    expect(lines().at(-1)).toBe('w is a key of the list: esc goes back to it');
    await press(...typed('/'));
    expect(lines().at(-1)).toBe('/ is a key of the list: esc goes back to it');
    await press(...typed('x'));
    expect(lines().at(-1)).toBe('x does nothing here; ? shows the keys');
    await press(named('right'), named('escape'), ...typed('x'));
    expect(lines().at(-1)).toBe('x does nothing here; ? shows the keys');
  });

  test('g offers the fields of the events; a name that none has is not taken', async () => {
    const items = many.map((_, number) => event(number, `,"delivery":{"attempts":${number % 2},"at":1}`));
    const { press, lines } = await browsing(items, { pageSize: 100, columns: 80 });
    await press(...typed('g'));
    expect(lines().slice(0, 6)).toEqual([
      'group by ▏',
      '',
      '❯ eventId',
      '  publishStatus',
      '  delivery',
      '  delivery.attempts',
    ]);
    await press(...typed('at'), named('down'));
    expect(lines().slice(2, 5)).toEqual(['  publishStatus', '❯ delivery.attempts', '  delivery.at']);
    await press(named('tab'));
    expect(lines()[0]).toBe('group by delivery.attempts▏');
    await press(named('return'));
    expect(lines()[0]).toBe('95 events, 2 groups by delivery.attempts');
    await press(...typed('gnope'), named('return'));
    expect(lines().at(-1)).toBe("no event has a field like 'nope'; esc cancels");
  });

  test('w with a field or a value that no event has says so, and names the near one', async () => {
    const { press, lines } = await browsing(many, { pageSize: 100, columns: 100 });
    await press(...typed('wpublishstatus = FAILED'), named('return'));
    expect(lines().at(-1)).toBe(
      "w: no event has the field 'publishstatus'; did you mean publishStatus? (95 events looked at)",
    );
    await press(named('escape'), ...typed('wpublishStatus = failed'), named('return'));
    expect(lines().at(-1)).toMatch(/^w: .*FAILED/);
  });

  test('the title says where the events are from, the times of an open event are in the zone', async () => {
    const items = [event(1, ',"createdOn":"2026-11-20T12:00:00Z"')];
    const { press, lines, state, size } = await browsing(items);
    const title = (columns: number) => {
      size.columns = columns;
      return screenLines(state, { ...look, place: 'night: events.example.com' })[0];
    };
    expect(title(60)).toBe('1 event                           night: events.example.com');
    expect(title(24)).toBe('1 event     night: eve…');
    size.columns = 60;
    await press(named('return'));
    expect(lines()).toContain('  "createdOn": "2026-11-20T12:00:00Z"');
    await press(...typed('z'));
    expect(lines()).toContain('  "createdOn": "2026-11-20T17:30:00+05:30"');
  });

  test('n and p show the next and the previous event while one is open', async () => {
    const { press, current, lines } = await browsing(many.slice(0, 3));
    await press(named('return'), ...typed('n'));
    expect(current()).toContain('id-1"');
    await press(...typed('nn'));
    expect(current()).toContain('id-2"');
    expect(lines().at(-1)).toBe('this is the last event');
    await press(...typed('ppp'));
    expect(current()).toContain('id-0"');
    expect(lines().at(-1)).toBe('this is the first event');
    await press(named('escape'), named('down'), named('return'), named('escape'));
    expect(current()).toContain('id-1"');
  });

  test('n leads through all events: the next pages are read meanwhile', async () => {
    const { press, current } = await browsing(many);
    await press(named('return'));
    for (let number = 1; number < many.length; number++) await press(...typed('n'));
    expect(current()).toContain(`id-${many.length - 1}"`);
  });

  test('? lists the keys until the next key', async () => {
    const { press, lines } = await browsing(many, { rows: 20, columns: 80 });
    const before = lines();
    await press(...typed('?'));
    expect(lines().filter((line) => line.includes('…'))).toEqual([]);
    expect(lines().slice(0, 4)).toEqual(['Keys', '', 'q  quits', '']);
    expect(lines()).toHaveLength(20);
    await press(...typed('j'));
    expect(lines()).toEqual(before);
  });

  test('r reads the events again', async () => {
    const { press, read, state } = await browsing(many);
    await press(...typed('G'), ...typed('r'));
    expect([read.lists, state.rows.selected, state.list.ended]).toEqual([2, 0, false]);
    expect(state.message).toBe('');
    expect(state.rows.count).toBeGreaterThan(8);
  });

  test.each(['r', 'rr', 'f', 'rf'])(
    'the events stay where %s cannot read others, until it can',
    async (keys) => {
      const { press, lines, read, state } = await browsing(many);
      await press(...typed('/id-1'), named('return'));
      const before = lines().slice(0, -1);
      read.isDown = true;
      await press(...typed(keys));
      expect(lines()).toEqual([...before, 'could not read more: the service is down']);
      expect([state.list.failedOnly, state.list.problem?.message]).toEqual([false, 'the service is down']);
      read.isDown = false;
      await press(...typed('r'));
      expect(lines().slice(0, -1)).toEqual(before);
      expect([lines().at(-1)?.slice(0, 10), state.list.problem]).toEqual(['enter open', undefined]);
      expect(read.lists).toBe(keys.length + 2);
    },
  );

  test('the hint for f says what the key does next', async () => {
    const { press, lines } = await browsing(many, { columns: 100 });
    expect(lines().at(-1)).toBe('enter open  / filter  w where  g group  f failed only  ? keys  q quit');
    await press(...typed('f'));
    expect(lines().at(-1)).toBe('enter open  / filter  w where  g group  f all events  ? keys  q quit');
  });

  test('w filters by conditions and texts that must all hold; esc takes back the latest', async () => {
    const items = many.map((_, number) =>
      event(number, `,"delivery":{"attempts":${number % 10}},"a":"x=${number % 2}"`),
    );
    const { press, lines, places } = await browsing(items, { pageSize: 100, columns: 120 });
    await press(...typed('wdelivery.attempts >= 8'));
    expect([lines()[0], lines().at(-1)]).toEqual([
      'where delivery.attempts >= 8▏',
      'type FIELD OP VALUE, or a text to find  enter filter  esc cancel',
    ]);
    expect(places()).toHaveLength(95);
    await press(named('return'));
    expect(places()).toEqual([8, 9, 18, 19, 28, 29, 38, 39, 48, 49, 58, 59, 68, 69, 78, 79, 88, 89]);
    await press(...typed('wID-8'), named('return'), ...typed('w"x=1"'), named('return'));
    expect(lines()[0]).toBe('95 events, 1 with "x=1" and "ID-8" and delivery.attempts >= 8');
    await press(...typed('/id-8'));
    expect(lines()[0]).toBe('95 events, 1 with /id-8▏ and "x=1" and "ID-8" and delivery.attempts >= 8');
    await press(named('return'));
    expect(places()).toEqual([89]);
    await press(named('escape'), named('escape'), named('escape'), named('escape'));
    expect(places()).toHaveLength(95);
  });

  test('an invalid condition is reported and can be corrected', async () => {
    const { press, lines, places } = await browsing(many, { pageSize: 100 });
    await press(...typed('w= 3'), named('return'));
    expect([lines()[0], lines().at(-1)]).toEqual(['where = 3▏', "w: invalid value '= 3': it names no field"]);
    await press({ name: 'u', ctrl: true }, ...typed('eventId = id-33'), named('backspace'), named('return'));
    expect(places()).toEqual([3]);
    await press(...typed('w'), named('return'), ...typed('wx'), named('escape'));
    expect(places()).toEqual([3]);
  });

  test('g groups the events read by a field, and enter shows the events of a group', async () => {
    const values = ['"a, b"', '3.0', '{"x":[1]}', 'null', '"say \\"hi\\""'];
    const items = many.map((_, number) =>
      event(number, number < 5 ? '' : `,"why":${values[(number % 15) % 5]}`),
    );
    const { press, lines, places } = await browsing(items, { pageSize: 100, columns: 79, rows: 9 });
    await press(...typed('/id-'), named('return'), ...typed('gwhy'));
    expect([lines()[0], lines().at(-1)]).toEqual([
      'group by why▏',
      'type a part of a field  up down choose  tab complete  enter group  esc cancel',
    ]);
    await press(named('return'));
    expect(lines()).toEqual([
      '95 events, 95 with /id-, 5 groups by why',
      '  why       events   share  first  last',
      // A field that is missing counts as null.
      '❯ -             23  24.2 %  -      -',
      '  a, b          18  18.9 %  -      -',
      '  say "hi"      18  18.9 %  -      -',
      '  3.0           18  18.9 %  -      -',
      '  1             18  18.9 %  -      -',
      '',
      'enter show the events  g group by another field  esc back  ? keys  q quit',
    ]);
    await press(named('escape'), named('escape'));
    expect(places()).toHaveLength(95);
    const shown: string[] = [];
    for (let row = 0; row < 5; row++) {
      const downwards = Array.from({ length: row }, () => named('down'));
      await press(...typed('gwhy'), named('return'), ...downwards, named('return'));
      shown.push(lines()[0] as string);
      await press(named('escape'));
    }
    expect(shown).toEqual([
      '95 events, 23 with why = null',
      '95 events, 18 with why = "a, b"',
      '95 events, 18 with why = "say \\"hi\\""',
      '95 events, 18 with why = 3.0',
      '95 events, 18 with why = {"x":[1]}',
    ]);
  });

  test('a group of lists that read like several conditions is shown', async () => {
    const items = many.map((_, number) => event(number, `,"why":${number % 2 ? '["a && b = c"]' : '1'}`));
    const { press, lines } = await browsing(items, { pageSize: 100, columns: 79, rows: 9 });
    await press(...typed('gwhy'), named('return'), named('down'), named('return'));
    expect(lines()[0]).toBe('95 events, 47 with why = ["a && b = c"]');
  });

  test('groups count all events, up to the limit of one reading', async () => {
    const { press, read, lines } = await browsing(many);
    expect(read.pages).toBe(2);
    await press(...typed('gpublishStatus'), named('return'));
    expect(lines().slice(0, 3)).toEqual([
      '95 events, 1 group by publishStatus',
      '  publishStatus  events  share  first  last',
      '❯ FAILED             95  100 %  -      -',
    ]);
  });

  test('an error is shown, and the events read stay', async () => {
    async function* failing(): AsyncGenerator<ReadPage> {
      yield { items: identified([event(0)]), total: 9 };
      throw new Error('gone \u001b[31m');
    }
    const state = new Browsing({
      open: () => new EventList(FILTERS, failing()),
      isFailedOnly: false,
      clock,
      screen: { rows: 8, columns: 60 },
      zones: [UTC],
      linesOf: () => [],
      layOut: (events, constant, ...where) => layOutList(events, { ...listed, constant }, ...where),
      copyId: async () => '',
      copyEvent: async () => '',
      report: async () => '',
      onChange: () => {},
    });
    state.settle();
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    const lines = screenLines(state, look);
    expect(lines.at(-1)).toBe('could not read more: gone \\u001b[31m');
    expect(lines[0]).toBe('9 events');
  });

  test('y copies the id and Y the event, o reports on those that are shown, and the bottom line says what came of it', async () => {
    const { press, lines } = await browsing([event(0), event(1)], { columns: 100 });
    const outcome = async (...keys: Key[]) => {
      expect(await press(...keys)).toBe(false);
      return lines().at(-1);
    };
    expect(await outcome(named('down'), ...typed('y'))).toBe(`copied the id of ${event(1)}`);
    expect(await outcome(named('return'), ...typed('Y'))).toBe(`copied ${event(1)}`);
    expect(await outcome(named('escape'), ...typed('wid-1'), named('return'), ...typed('o'))).toBe(
      'no report with id-1',
    );
    expect(await outcome(...typed('/event 1'), named('return'), ...typed('o'))).toBe(
      'no report with id-1,event,1',
    );
    expect(await outcome(named('up'))).toContain('? keys  q quit');
    expect(await press(named('return'), ...typed('q'))).toBe(true);
  });
});

describe('the list on a narrow screen', () => {
  const subscriptionId = '1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b';
  const wide = (number: number) =>
    `{"createdOn":"2026-11-01T06:58:0${number}Z","publishStatus":"FAILED","eventType":"invoice.payment_failed","eventId":"2b0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5${number}","subscriptionId":"${subscriptionId}","error":"503 Service Unavailable"}`;
  const names = { learn: async () => {}, labelOf: () => 'hooks.harbour.example/in' };

  test('has what tells events apart, and a line above the keys says what is left out', async () => {
    const { state } = await browsing([wide(0), wide(1)], { columns: 80, rows: 24, facts: { names } });
    const lines = screenLines(state, { ...look, names });
    expect(lines[1]).toMatch(/^ {2}createdOn +status +eventType +address +error$/);
    expect(lines[2]).toMatch(/^❯ .*58:00Z +FAILED +invoice\S* +hooks\.ha\S* +503 /);
    expect(lines.at(-2)).toBe('columns left out: eventId; enter shows the whole event');
    expect(lines).toHaveLength(24);
    expect(state.listRows).toBe(20);
    // A lower screen has all of its rows for events.
    const low = await browsing([wide(0)], { columns: 80, rows: 8 });
    expect(low.lines().join()).not.toContain('left out');
  });

  test('has the saved columns', async () => {
    const fields = parseFieldPaths('eventType,subscriptionId');
    const { lines } = await browsing([wide(0)], { columns: 80, facts: { names, fields } });
    expect(lines().slice(1, 3)).toEqual([
      '  eventType               address',
      '❯ invoice.payment_failed  hooks.harbour.example/in',
    ]);
  });

  test('has addresses in place of ids in groups and in the title', async () => {
    const { state, press } = await browsing([wide(0), wide(1)], { columns: 80 });
    const lines = () => screenLines(state, { ...look, names });
    await press(...typed('gsubscriptionId'), named('return'));
    expect(lines().slice(0, 3)).toEqual([
      '2 events, 1 group by subscriptionId',
      '  subscriptionId            events  share  first            last',
      expect.stringMatching(/^❯ hooks\.harbour\.example\/in +2 +100 % /),
    ]);
    await press(named('return'));
    expect(lines()[0]).toBe('2 events, 2 with subscriptionId = hooks.harbour.example/in');
  });

  test('marks what was searched for, in the list and in an open event', async () => {
    const { state, press } = await browsing([wide(0)], { columns: 100, rows: 20 });
    const palette = { ...plain, mark: (text: string) => `<${text}>` };
    const lines = () => screenLines(state, { ...look, palette, marked: ['Payment'] });
    expect(lines()[2]).toContain('invoice.<payment>_failed');
    await press(...typed('/503'), named('return'));
    expect(lines()[2]).toContain('<503> Service');
    await press(named('return'));
    expect(lines().join('\n')).toContain('"error": "<503> Service Unavailable"');
    expect(lines().join('\n')).toContain('"eventType": "invoice.<payment>_failed"');
  });
});

test('a mark leaves colours as they are, and takes no text for an expression', () => {
  const mark = (text: string) => `<${text}>`;
  expect(markTexts('\u001b[31mFAILED 31\u001b[39m a.c abc', ['31', 'a.c', ''], mark)).toBe(
    '\u001b[31mFAILED <31>\u001b[39m <a.c> abc',
  );
  expect(markTexts('unchanged', [], mark)).toBe('unchanged');
});

test('fills the screen exactly, whatever its size, the events and the keys', async () => {
  const key = fc.oneof(
    fc
      .constantFrom('up', 'down', 'pageup', 'pagedown', 'home', 'end', 'return', 'escape', 'backspace')
      .map(named),
    fc
      .constantFrom('/', 'f', 'w', 'g', '=', 'other', 'a', '?', 'r', 'n', 'p', '界', 'e\u0301')
      .map((sequence) => ({ sequence, name: sequence })),
  );
  const item = fc.record(
    { eventId: fc.string({ unit: 'binary' }), other: fc.jsonValue() },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { maxLength: 30 }),
      fc.array(key, { maxLength: 25 }),
      fc.integer({ min: 4, max: 30 }),
      fc.integer({ min: 10, max: 200 }),
      async (items, keys, rows, columns) => {
        const { press, lines, size } = await browsing(
          items.map((value) => JSON.stringify(value)),
          { rows, columns },
        );
        for (const one of keys) {
          await press(one);
          const drawn = lines();
          expect(drawn).toHaveLength(rows);
          const last = stripVTControlCharacters(drawn.at(-1) as string);
          expect(last.length).toBeGreaterThan(0);
          expect(cellWidth(last)).toBeLessThan(columns);
          for (const line of drawn) {
            expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
            expect(cellWidth(line)).toBeLessThanOrEqual(columns);
          }
        }
        size.columns = 20;
        await press();
        expect(lines()).toHaveLength(rows);
      },
    ),
    { numRuns: faultRounds(sampleSize(6, 50), 1500) },
  );
});
