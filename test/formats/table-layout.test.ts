import { describe, expect, test } from 'vitest';
import { ERROR_HEAD, EVENT_HEADS, SECOND_ID, whoHead } from '../../src/formats/event-columns.ts';
import {
  type ColumnHead,
  kindedColumns,
  type TableCell,
  timeWithin,
  wholeColumns,
} from '../../src/formats/table-columns.ts';
import { fitColumns } from '../../src/formats/table-layout.ts';
import { loadWidths } from '../../src/terminal/cell-width.ts';

await loadWidths();

type Rows = readonly (readonly TableCell[])[];

/** The titles of the columns that have room, each with its width. */
function layout(heads: readonly ColumnHead[], rows: Rows, room: number, isComplete = true): string {
  const columns = fitColumns(heads, rows, room, isComplete);
  return columns.map(({ title, width }) => `${title} ${width}`).join(', ');
}

const id = (digit: number) => `${digit}a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b`;

describe('events whose type and customer tell them apart', () => {
  const heads = [
    EVENT_HEADS.createdOn,
    EVENT_HEADS.publishStatus,
    EVENT_HEADS.eventType,
    EVENT_HEADS.eventId,
    whoHead('customer'),
    { title: 'subscriptionId', ...SECOND_ID },
    ERROR_HEAD,
  ];
  const types = ['invoice.payment_failed', 'invoice.payment_refused'];
  const customers = ['Harbour Freight of the North', 'Harbour Freight of the South'];
  const rows = [
    ['2026-11-01T06:58:12.345Z', 'FAILED', types[0], id(1), customers[0], id(3), '503 Service Unavailable'],
    ['2026-11-01T06:59:12.345Z', 'SUCCESS', types[1], id(2), customers[1], id(4), '-'],
  ] as Rows;

  test.each([
    [
      195,
      'createdOn 24, publishStatus 13, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23',
    ],
    [
      194,
      'createdOn 20, publishStatus 13, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23',
    ],
    [190, 'createdOn 24, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23'],
    [188, 'createdOn 20, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23'],
    [
      184,
      '2026-11-01 10, publishStatus 13, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23',
    ],
    [180, 'createdOn 15, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23'],
    [179, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 23'],
    [174, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 22'],
    [167, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 28, subscriptionId 36, error 15'],
    [166, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 27, subscriptionId 36, error 15'],
    [163, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 24, subscriptionId 36, error 15'],
    [162, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 23, subscriptionId 36, error 15'],
    [125, '2026-11-01 10, status 7, eventType 23, eventId 36, customer 24, error 15'],
    [103, '2026-11-01 10, status 7, eventType 23, customer 28, error 23'],
    [98, '2026-11-01 10, status 7, eventType 23, customer 28, error 22'],
    [90, '2026-11-01 10, status 7, eventType 23, customer 27, error 15'],
    [82, '2026-11-01 10, status 7, eventType 23, customer 19, error 15'],
    [79, '2026-11-01 10, status 7, eventType 23, customer 16, error 15'],
    [78, '2026-11-01 10, status 7, eventType 22, customer 16, error 15'],
    [73, '2026-11-01 10, status 7, eventType 17, customer 16, error 15'],
    [72, '2026-11-01 10, status 7, eventType 16, customer 16, error 15'],
    [50, '2026-11-01 10, status 7, eventType 11, customer 16'],
    [43, '2026-11-01 10, status 7, eventType 10, customer 10'],
    [42, '2026-11-01 10, status 7, eventType 21'],
    [30, 'createdOn 20, status 7'],
    [28, 'createdOn 15, status 7'],
    [23, '2026-11-01 10, status 7'],
    [18, 'createdOn 15'],
    [14, '2026-11-01 10'],
    [9, '2026-11-01 9'],
  ])('in %i columns', (room, columns) => {
    expect(layout(heads, rows, room)).toBe(columns);
  });
});

describe('several times side by side', () => {
  const heads: readonly ColumnHead[] = [
    whoHead('address'),
    { title: 'subscriptionId', ...SECOND_ID },
    { title: 'state', kind: 'status' },
    { title: 'failed', kind: 'number' },
    { title: 'failing since', kind: 'time' },
    { title: 'last failure', kind: 'time', spare: 2 },
    { ...ERROR_HEAD, spare: 3 },
    { title: 'last success', kind: 'time', spare: 1 },
    { title: 'last ten', kind: 'text', spare: 4, least: 10 },
  ];
  const [since, latest] = ['2026-11-01T06:58:12Z', '2026-11-20T06:58:12Z'];
  const ofOne = ['hooks.harbour.example/invoices', id(1), 'failing', '12 of 1,204', since, latest];
  const ofOther = ['hooks.quay.example/in', id(2), 'ok', '0 of 7', '-', '-'];
  const rows = [
    [...ofOne, '503 Service Unavailable', '-', 'FFFFFFFFFF'],
    [...ofOther, '-', latest, 'SSSSSSSSSS'],
  ] as Rows;

  test.each([
    [
      193,
      'address 30, subscriptionId 36, state 7, failed 11, failing since 20, last failure 20, error 23, last success 20, last ten 10',
    ],
    [
      192,
      'address 30, subscriptionId 36, state 7, failed 11, failing since 15, last failure 15, error 23, last success 15, last ten 10',
    ],
    [
      178,
      'address 30, subscriptionId 36, state 7, failed 11, failing since 15, last failure 15, error 23, last success 15, last ten 10',
    ],
    [
      177,
      'address 30, subscriptionId 36, state 7, failed 11, failing since 15, last failure 15, error 22, last success 15, last ten 10',
    ],
    [
      156,
      'address 16, subscriptionId 36, state 7, failed 11, failing since 15, last failure 15, error 15, last success 15, last ten 10',
    ],
    [
      155,
      'address 23, subscriptionId 36, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12, last ten 10',
    ],
    [
      148,
      'address 16, subscriptionId 36, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12, last ten 10',
    ],
    [
      147,
      'address 30, state 7, failed 11, failing since 15, last failure 15, error 23, last success 15, last ten 10',
    ],
    [
      140,
      'address 30, state 7, failed 11, failing since 15, last failure 15, error 23, last success 15, last ten 10',
    ],
    [
      118,
      'address 16, state 7, failed 11, failing since 15, last failure 15, error 15, last success 15, last ten 10',
    ],
    [
      117,
      'address 23, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12, last ten 10',
    ],
    [
      110,
      'address 16, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12, last ten 10',
    ],
    [109, 'address 19, state 7, failed 11, failing since 15, last failure 15, error 15, last success 15'],
    [105, 'address 23, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12'],
    [98, 'address 16, state 7, failed 11, failing since 13, last failure 12, error 15, last success 12'],
    [97, 'address 20, state 7, failed 11, failing since 13, last failure 12, last success 12, last ten 10'],
    [88, 'address 23, state 7, failed 11, failing since 13, last failure 12, last success 12'],
    [80, 'address 17, state 7, failed 11, failing since 13, last success 12, last ten 10'],
    [78, 'address 27, state 7, failed 11, failing since 13, last success 12'],
    [66, 'address 17, state 7, failed 11, failing since 13, last ten 10'],
    [64, 'address 27, state 7, failed 11, failing since 13'],
    [53, 'address 16, state 7, failed 11, failing since 13'],
    [52, 'address 16, state 7, failed 11, failing since 12'],
    [51, 'address 29, state 7, failed 11'],
    [37, 'address 28, state 7'],
    [24, 'address 24'],
  ])('in %i columns', (room, columns) => {
    expect(layout(heads, rows, room)).toBe(columns);
  });
});

describe('a bar', () => {
  const heads: readonly ColumnHead[] = [
    { title: 'eventType', least: 12 },
    { title: 'failed', kind: 'number' },
    { title: 'events', kind: 'number' },
    { title: 'rate', kind: 'number' },
    { title: 'failed of all', kind: 'bar', least: 4, most: 40, spare: 1 },
  ];
  const bar = { share: 1, draw: (width: number) => '#'.repeat(width) };
  const rows = [
    ['invoice.payment_failed', '12', '1,204', '1.0 %', bar],
    ['order.created', '-', '7', '', bar],
  ];

  test.each([
    [87, 'eventType 22, failed 6, events 6, rate 5, failed of all 40'],
    [86, 'eventType 22, failed 6, events 6, rate 5, failed of all 39'],
    [60, 'eventType 22, failed 6, events 6, rate 5, failed of all 13'],
    [52, 'eventType 22, failed 6, events 6, rate 5, failed of all 5'],
    [51, 'eventType 22, failed 6, events 6, rate 5, failed of all 4'],
    [47, 'eventType 18, failed 6, events 6, rate 5, failed of all 4'],
    [46, 'eventType 17, failed 6, events 6, rate 5, failed of all 4'],
    [41, 'eventType 12, failed 6, events 6, rate 5, failed of all 4'],
    [40, 'eventType 17, failed 6, events 6, rate 5'],
    [35, 'eventType 12, failed 6, events 6, rate 5'],
    [34, 'eventType 12, failed 6, events 5, rate 5'],
    [33, 'eventType 15, failed 2, events 5, rate 5'],
    [29, 'eventType 18, failed 2, events 5'],
    [22, 'eventType 18, failed 2'],
    [15, 'eventType 15'],
  ])('in %i columns', (room, columns) => {
    expect(layout(heads, rows, room)).toBe(columns);
  });
});

describe('a field path', () => {
  const heads: readonly ColumnHead[] = [
    EVENT_HEADS.createdOn,
    { title: 'found in', kind: 'text', least: 20, isPath: true },
    EVENT_HEADS.eventId,
  ];
  const rows = [['2026-11-01T06:58:12Z', 'eventData.body.recipient.address.street', id(1)]];

  test.each([
    [99, 'createdOn 20, found in 39, eventId 36'],
    [98, 'createdOn 15, found in 39, eventId 36'],
    [93, 'createdOn 15, found in 38, eventId 36'],
    [78, 'createdOn 15, found in 23, eventId 36'],
    [77, 'createdOn 15, found in 22, eventId 36'],
    [75, 'createdOn 15, found in 20, eventId 36'],
    [74, 'createdOn 20, found in 39'],
    [61, 'createdOn 20, found in 39'],
    [60, 'createdOn 15, found in 39'],
    [37, 'createdOn 15, found in 20'],
    [36, 'createdOn 20'],
    [14, 'createdOn 14'],
    [5, 'createdOn 5'],
  ])('in %i columns', (room, columns) => {
    expect(layout(heads, rows, room)).toBe(columns);
  });
});

describe('the kind of a column', () => {
  const kindOf = (texts: readonly string[], title = 'x') =>
    kindedColumns(
      [{ title }],
      texts.map((text) => [text]),
    )[0]?.kind;

  test.each([
    ['time', ['2026-11-01T06:58:12.345Z', '2026-11-01 06:58:12', '-']],
    ['time', ['2026-11-01T06:58:12+05:30', '2026-11-01T06:58:12-0530', '2026-11-01T06:58:12.5Z']],
    ['text', ['2026-11-01T06:58:12Z', 'later']],
    ['text', ['at 2026-11-01T06:58:12Z']],
    ['text', ['2026-11-01T06:58:12Z or later']],
    ['text', ['2026-11-01']],
    ['id', [id(1), `{${id(2)}}`, id(3).toUpperCase(), '-']],
    ['text', [id(1), 'a name']],
    ['text', [`of ${id(1)}`]],
    ['text', [`${id(1)}0`]],
    ['number', ['7', '-7', '1,204.5', '<1', '>1', '-']],
    ['number', ['1e10', '1E+10', '1e-3', '5 %', '0.1 %']],
    ['text', ['7', 'seven']],
    ['text', ['1e']],
    ['text', ['x7']],
    ['text', ['7 of 9']],
    ['text', ['-', '-']],
    ['text', []],
  ])('%s: %j', (kind, texts) => {
    expect(kindOf(texts)).toBe(kind);
  });

  test.each([
    ['publishStatus', 'status'],
    ['state', 'status'],
    ['statusText', 'number'],
  ])('under the title %s it is %s', (title, kind) => {
    expect(kindOf(['7'], title)).toBe(kind);
  });
});

test.each([
  ['2026-11-01T06:58:12.345+05:30', [29, 25, 20, 17, 14]],
  ['2026-11-01T06:58:12.345Z', [24, 20, 15, 12, 9]],
  ['2026-11-01 06:58:12', [19, 19, 14, 11, 8]],
] as const)('%s in less and less room', (text, widths) => {
  const [zone = ''] = /(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const forms = [
    text.replace('T', ' '),
    `2026-11-01 06:58:12${zone}`,
    `11-01 06:58:12${zone}`,
    `11-01 06:58${zone}`,
    `06:58:12${zone}`,
  ];
  expect(widths.map((width) => timeWithin(text, width))).toEqual(forms);
  expect(timeWithin(text, (widths[3] as number) - 1)).toBe(forms[4]);
  // Nothing shorter is left.
  expect(timeWithin(text, 7)).toBe(text);
  expect(timeWithin('-', 0)).toBe('-');
});

test('in a pipe a column is as wide as its widest text, and a bar as it may be', () => {
  const bar = { share: 1, draw: (width: number) => '#'.repeat(width) };
  const heads: readonly ColumnHead[] = [
    { title: 'a title' },
    { title: 'share', kind: 'bar', most: 40 },
    { title: 'n', kind: 'number' },
  ];
  const rows = [['x'.repeat(200), bar, '1,204']];
  expect(wholeColumns(heads, rows).map(({ width }) => width)).toEqual([200, 40, 5]);
  expect(wholeColumns(heads, []).map(({ width }) => width)).toEqual([7, 40, 1]);
});

describe('what all rows share', () => {
  const heads = [EVENT_HEADS.createdOn, EVENT_HEADS.publishStatus, { title: 'a' }];
  const text = 'x'.repeat(30);
  const rows = (status: string, time: string) => [
    ['2026-11-01T06:58:12Z', 'FAILED', text],
    [time, status, text],
  ];
  const [sameDay, sameYear, later] = ['2026-11-01T07:00:00Z', '2026-11-02T07:00:00Z', '2027-01-01T07:00:00Z'];

  test.each([
    // No other rows follow.
    ['the day and the status', true, 'FAILED', sameDay, '2026-11-01 10, a 30'],
    ['the status', true, 'FAILED', sameYear, 'createdOn 15, a 27'],
    ['the year', true, 'SUCCESS', sameYear, 'createdOn 15, status 7, a 18'],
    ['nothing', true, 'SUCCESS', later, 'createdOn 20, status 7, a 13'],
    ['the day and the status, as far as is known', false, 'FAILED', sameDay, 'createdOn 15, status 7, a 18'],
    ['nothing, as far as is known', false, 'FAILED', later, 'createdOn 20, status 7, a 13'],
  ] as const)('%s', (_name, isComplete, status, time, columns) => {
    expect(layout(heads, rows(status, time), 44, isComplete)).toBe(columns);
  });

  test('one row shares nothing', () => {
    expect(layout(heads, rows('FAILED', sameDay).slice(0, 1), 44)).toBe('createdOn 15, status 7, a 18');
  });

  test('a column whose values the filters give goes before one that nothing gives', () => {
    const [first, , third] = heads as [ColumnHead, ColumnHead, ColumnHead];
    const given = [first, { ...EVENT_HEADS.publishStatus, isConstant: true }, third];
    expect(layout(given, rows('FAILED', sameYear), 44, false)).toBe('createdOn 15, a 27');
  });

  test('of two times the day is no title', () => {
    const times: readonly ColumnHead[] = [{ title: 'first' }, { title: 'last' }, { title: 'a' }];
    const row = ['2026-11-01T06:58:12Z', '2026-11-01T07:00:00Z', text];
    expect(layout(times, [row, row], 60)).toBe('first 12, last 12, a 30');
  });
});

describe('an id that is whole', () => {
  const heads: readonly ColumnHead[] = [{ title: 'eventId', isWhole: true }, { title: 'name' }];
  const rows = [[id(1), 'x'.repeat(60)]];

  test.each([
    [98, 'eventId 36, name 60'],
    [78, 'eventId 36, name 40'],
    [77, 'eventId 36, name 39'],
    [48, 'eventId 36, name 10'],
    [47, 'eventId 9, name 36'],
    [21, 'eventId 9, name 10'],
  ])('in %i columns', (room, columns) => {
    expect(layout(heads, rows, room)).toBe(columns);
  });
});

describe('texts that have to be cut', () => {
  const texts = (...widths: readonly number[]) => widths.map((width) => 'x'.repeat(width));
  const heads = (count: number) => ['a', 'b', 'c'].slice(0, count).map((title) => ({ title }));

  test.each([
    [52, 'a 30, b 20'],
    [43, 'a 21, b 20'],
    [41, 'a 19, b 20'],
    [23, 'a 10, b 11'],
    [22, 'a 10, b 10'],
    [21, 'a 21'],
  ])('are the widest, in %i columns', (room, columns) => {
    expect(layout(heads(2), [texts(30, 20)], room)).toBe(columns);
  });

  test.each([1, 2, 5, 9])('if nothing else is left the first has %i columns', (room) => {
    expect(layout(heads(3), [texts(30, 20, 40)], room)).toBe(`a ${room}`);
  });

  test.each([
    [['abc1', 'x', 'abc2'], 'x'.repeat(60), 'a 4'],
    [['abc', 'abcdefghijklmnop'], 'x'.repeat(60), 'a 4'],
    // Each is cut in its middle: the ends tell them apart.
    [['abcdefghij1', 'abcdefghij2'], 'x'.repeat(60), 'a 4'],
  ])('that tell rows apart stay different: %j', (telling, other, first) => {
    const cut = layout(
      [{ title: 'a', isDistinctive: true, least: 2 }, { title: 'b' }],
      telling.map((text) => [text, other]),
      30,
    );
    expect(cut.split(', ')[0]).toBe(first);
  });
});
