import { describe, expect, test } from 'vitest';
import {
  ended,
  layOut,
  leftOutNote,
  loadTableLook,
  oneLine,
  type Table,
  type TableLook,
  tableLines,
  tableText,
  tableWithNote,
} from '../../src/formats/table.ts';
import { loadWidths } from '../../src/terminal/cell-width.ts';
import { fakeOutput, fakeReporter } from '../support/outputs.ts';

await loadWidths();

const lookAt = (width?: number, { color = 0 as 0 | 1, takesUnicode = true } = {}) =>
  loadTableLook(fakeOutput(width), { stdoutColor: color, takesUnicode });
const bar = { share: 1, draw: (width: number) => '#'.repeat(width) };

/** Columns of which the spare ones go first. */
const TABLE: Table = {
  heads: [
    { title: 'eventType' },
    { title: 'publishStatus', shortTitle: 'status', spare: 2 },
    { title: 'attempts', spare: 3 },
  ],
  rows: [
    ['invoice.sent', 'FAILED', '12'],
    ['user.added', 'FAILED', '7'],
  ],
};

describe('a table', () => {
  test('has whole columns in a pipe, and fits the width of a terminal', async () => {
    expect(tableLines(TABLE, await lookAt())).toEqual([
      'eventType     publishStatus  attempts',
      'invoice.sent  FAILED               12',
      'user.added    FAILED                7',
    ]);
    expect(tableLines(TABLE, await lookAt(27))).toEqual([
      'eventType     publishStatus',
      'invoice.sent  FAILED',
      'user.added    FAILED',
    ]);
    expect(tableLines(TABLE, await lookAt(20))).toEqual(['eventType', 'invoice.sent', 'user.added']);
  });

  test('is as wide as its texts in a pipe', async () => {
    const wide: Table = { heads: [{ title: 'a' }, { title: 'b' }], rows: [['x'.repeat(99), 'y'.repeat(99)]] };
    expect(tableLines(wide, await lookAt())[1]).toBe(`${'x'.repeat(99)}  ${'y'.repeat(99)}`);
  });

  test('is printed with the end of each line, and loads what its letters need', async () => {
    const reporter = fakeReporter();
    expect(await tableText(TABLE, fakeOutput(12), reporter)).toBe('eventType\ninvoice.sent\nuser.added\n');
    const wide: Table = { heads: [{ title: 'é👍🏽' }, { title: 'n' }], rows: [['ü👩‍👩‍👧', bar]] };
    expect(await tableText(wide, fakeOutput(), reporter)).toBe('é👍🏽  n\nü👩‍👩‍👧  #\n');
    expect(await tableText({ heads: [{ title: 'a' }], rows: [] }, fakeOutput(), reporter)).toBe('a\n');
  });

  test('has colour if its reporter does, and ASCII where the locale has no more', async () => {
    const [titles, row] = tableLines(TABLE, await lookAt(undefined, { color: 1 }));
    expect(titles).toContain('\u001b[1meventType\u001b[22m');
    expect(row).toContain('\u001b[31mFAILED\u001b[39m');
    const cut = (takesUnicode: boolean) =>
      lookAt(5, { takesUnicode }).then((look) => tableLines(TABLE, look)[1]);
    expect(await Promise.all([cut(true), cut(false)])).toEqual(['invo…', 'invo~']);
    const reporter = { ...fakeReporter(1), takesUnicode: false };
    expect(await tableText(TABLE, fakeOutput(5), reporter)).toBe(
      ['\u001b[1meven~\u001b[22m', 'invo~', 'user~', ''].join('\n'),
    );
  });

  test('without titles keeps the colour of a status', async () => {
    const look: TableLook = { ...(await lookAt(undefined, { color: 1 })), hasHeader: false };
    expect(tableLines(TABLE, look)).toEqual([
      'invoice.sent  \u001b[31mFAILED\u001b[39m  12',
      'user.added    \u001b[31mFAILED\u001b[39m   7',
    ]);
    const kinds = (title: string, hasHeader: boolean) =>
      layOut({ heads: [{ title }], rows: [['7']] }, { room: undefined, hasHeader }, true);
    expect(kinds('the state', false)).toMatchObject([{ title: '', kind: 'status', width: 1 }]);
    expect(kinds('Status', false)).toMatchObject([{ kind: 'status' }]);
    expect(kinds('statusText', false)).toMatchObject([{ kind: 'number' }]);
    expect(kinds('the state', true)).toMatchObject([{ title: 'the state', width: 9 }]);
    expect(layOut(TABLE, { room: undefined }, true)[1]).toMatchObject({ title: 'publishStatus' });
  });

  test('without titles leaves no room for short ones', async () => {
    const look: TableLook = { ...(await lookAt(24)), hasHeader: false };
    expect(tableLines(TABLE, look)).toEqual(['invoice.sent  FAILED  12', 'user.added    FAILED   7']);
    const delivered: Table = {
      heads: [{ title: 'a' }, { title: 'publishStatus', shortTitle: 'status' }],
      rows: [['x'.repeat(20), 'OK']],
    };
    const widths = layOut(delivered, { room: 20, hasHeader: false }, true).map(({ width }) => width);
    expect(widths).toEqual([16, 2]);
  });

  test('keeps each of its rows on one line', async () => {
    const odd: Table = { heads: [{ title: 'a\nb' }], rows: [['c\u2028d\u2029e\tf'], ['\ud800g']] };
    const lines = ['a\\u000ab', 'c\\u2028d\\u2029e\\u0009f', '\ufffdg'];
    expect(tableLines(odd, await lookAt())).toEqual(lines);
    expect(tableWithNote(odd, await lookAt())).toEqual(lines);
    expect(
      tableLines({ heads: [{ title: 'x', kind: 'bar', most: 3 }], rows: [[bar]] }, await lookAt()),
    ).toEqual(['x', '###']);
  });

  test('shows a left out column again where rows would look alike, before others that may go', async () => {
    const twins: Table = {
      heads: [
        { title: 'type' },
        { title: 'error', spare: 1 },
        { title: 'address', spare: 6, restoreOrder: 1 },
        { title: 'eventId', spare: 5, restoreOrder: 2 },
      ],
      rows: [
        ['sent', 'gone away', 'a.example', 'x'],
        ['sent', 'gone away', 'b.example', 'y'],
      ],
    };
    const titles = (rows: Table['rows'], width: number) =>
      layOut({ ...twins, rows }, { room: width }, true).map(({ title }) => title);
    expect(titles(twins.rows, 17)).toEqual(['type', 'address']);
    const [first = [], second = []] = twins.rows;
    expect(titles([first, ['sent', 'timed out', ...second.slice(2)]], 17)).toEqual(['type', 'error']);
    const untitled = layOut(twins, { room: 17, hasHeader: false }, true);
    expect(untitled.map(({ index, title }) => [index, title])).toEqual([
      [0, ''],
      [2, ''],
    ]);
    // Both addresses are the same.
    expect(titles([first, [...first.slice(0, 3), 'y']], 17)).toEqual(['type', 'eventId']);
  });
});

describe('the note on columns that are left out', () => {
  test('is below the table, dimmed and as wide', async () => {
    expect(tableWithNote(TABLE, await lookAt(27))).toEqual([
      'eventType     publishStatus',
      'invoice.sent  FAILED',
      'user.added    FAILED',
      'columns left out: attempts;',
      'a wider terminal shows them',
    ]);
    const dimmed = tableWithNote(TABLE, await lookAt(60, { color: 1 }));
    expect(dimmed).toHaveLength(3);
    const narrow: Table = {
      heads: [{ title: 'a' }, { title: 'b', spare: 2 }],
      rows: [['x'.repeat(60), 'y']],
    };
    expect(tableWithNote(narrow, await lookAt(60, { color: 1 })).slice(2)).toEqual([
      '\u001b[2mcolumns left out: b; a wider terminal shows them\u001b[22m',
    ]);
    expect(tableWithNote(TABLE, await lookAt())).toEqual(tableLines(TABLE, await lookAt()));
  });

  test('tells the status that all rows share, which goes before a text is cut', async () => {
    const texts = ['x', 'y'].map((letter) => letter.repeat(20));
    const shared: Table = {
      heads: [{ title: 'a' }, { title: 'state' }],
      rows: texts.map((text) => [text, 'on']),
    };
    expect(tableWithNote(shared, await lookAt(24))).toEqual([
      'a',
      ...texts,
      'columns left out: state',
      '(on in every row); a',
      'wider terminal shows',
      'them',
    ]);
  });

  test('is there without the titles too', async () => {
    const look: TableLook = { ...(await lookAt(12)), hasHeader: false };
    expect(tableWithNote(TABLE, look).slice(0, 3)).toEqual(['invoice.sent', 'user.added', 'columns left']);
  });

  const noteOf = (table: Table, shown: readonly number[], isComplete: boolean) =>
    leftOutNote(
      table,
      shown.map((index) => ({ index, title: '', kind: 'text', width: 1 })),
      isComplete,
    );

  test('names them, with a status that all rows share', () => {
    expect(noteOf(TABLE, [0, 1, 2], true)).toBeUndefined();
    expect(noteOf(TABLE, [0], true)).toBe('columns left out: publishStatus (FAILED in every row), attempts');
    const [first = [], second = []] = TABLE.rows;
    const mixed = { ...TABLE, rows: [first, second.with(1, 'SUCCESS')] };
    expect(noteOf(mixed, [0], true)).toBe('columns left out: publishStatus, attempts');
    // Only the status is known by its values.
    expect(noteOf({ ...TABLE, rows: [first] }, [1], true)).toBe('columns left out: eventType, attempts');
    expect(noteOf({ heads: TABLE.heads, rows: [[first[0] ?? '', bar]] }, [0, 2], true)).toBe(
      'columns left out: publishStatus',
    );
    expect(noteOf({ ...TABLE, rows: [] }, [0, 2], true)).toBe('columns left out: publishStatus');
  });

  test('tells a shared status while rows may follow only if the filters give it', () => {
    expect(noteOf(TABLE, [0, 2], false)).toBe('columns left out: publishStatus');
    const heads = TABLE.heads.map((head) => ({ ...head, isConstant: true }));
    expect(noteOf({ ...TABLE, heads }, [0, 2], false)).toBe(
      'columns left out: publishStatus (FAILED in every row)',
    );
  });
});

test('lines end, each of them', () => {
  expect(ended(['a', '', 'b'])).toBe('a\n\nb\n');
  expect(ended([])).toBe('');
  expect(oneLine('a\u2028\u2029\u001bb')).toBe('a\\u2028\\u2029\\u001bb');
});
