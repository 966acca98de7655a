import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { ComparisonTable } from '../../src/outcomes/comparison-table.ts';
import { bareText } from '../../src/outcomes/field-column.ts';

function tableOf(items: readonly object[], only?: readonly string[]) {
  const table = new ComparisonTable(only);
  table.add(Items.of(items.map((item) => Buffer.from(JSON.stringify(item)))));
  table.finish();
  /** The values of a field by row; undefined if the table has no such field. */
  const valuesOf = (path: string) => {
    const field = table.fields.find(({ steps }) => steps.join('.') === path);
    return (
      field && [...field.codes.slice(0, table.rows)].map((code) => bareText(field.texts[code] as string))
    );
  };
  return { table, valuesOf };
}

const flat = (id: string, type: string, publishStatus = 'FAILED') => ({
  ...{ eventId: id, eventType: type, subscriptionId: 's', publishStatus, createdOn: '2026-11-01T00:00:00Z' },
});
const published = (id: string, type: string, publishStatus = 'FAILED') => {
  const { eventId, eventType, ...record } = flat(id, type, publishStatus);
  return { ...record, eventData: { eventId, eventType, body: { country: 'CH' } } };
};

describe('known fields of events that are compared', () => {
  test('are one column, whichever shape their items have', () => {
    const { table, valuesOf } = tableOf([
      published('a', 'x'),
      flat('b', 'y', 'SUCCESS'),
      published('c', 'z'),
    ]);
    expect([table.rows, table.failed, table.untold]).toEqual([3, 2, 0]);
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'z']);
    expect(valuesOf('eventId')).toEqual(['a', 'b', 'c']);
    expect(valuesOf('eventData.eventType')).toBeUndefined();
    expect(valuesOf('eventData.body.country')).toEqual(['CH', 'null', 'CH']);
  });

  test('are those at the top where an object of the item names another event', () => {
    const cause = { cause: { eventId: 'other', eventType: 'not its type' } };
    const { valuesOf } = tableOf([
      { cause: { eventId: 'c', eventType: 'x' }, publishStatus: 'FAILED' },
      { ...cause, ...flat('a', 'y') },
      { ...flat('b', 'z'), ...cause },
      { ...cause, eventId: 'd', publishStatus: 'FAILED' },
    ]);
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'z', 'null']);
    expect(valuesOf('cause.eventType')).toEqual(['null', 'not its type', 'not its type', 'not its type']);
  });

  test('are those at the top alone where two members could be the event', () => {
    const one = { eventId: 'a', eventType: 'x' };
    const { valuesOf } = tableOf([
      { publishStatus: 'FAILED', one },
      { publishStatus: 'FAILED', one, other: { eventId: 'b', eventType: 'y' } },
    ]);
    expect(valuesOf('eventType')).toEqual(['x', 'null']);
    expect(valuesOf('other.eventType')).toEqual(['null', 'y']);
  });

  test('are found in the event where outcome and time are there too, and the top has null', () => {
    const inner = {
      eventId: 'a',
      publishStatus: 'FAILED',
      createdOn: '2026-11-01T00:00:00Z',
      eventType: 'x',
    };
    const { table, valuesOf } = tableOf([
      { record: inner },
      { eventType: null, record: inner },
      { record: inner, eventType: null },
      { record: inner, eventType: 'top' },
      { eventType: 'top', record: inner },
    ]);
    expect([table.rows, table.failed, table.times.unknown]).toEqual([5, 5, 0]);
    expect(valuesOf('eventType')).toEqual(['x', 'x', 'x', 'top', 'top']);
  });

  test('are kept by a table of few fields, and nothing else is', () => {
    const { table, valuesOf } = tableOf(
      [published('a', 'x'), flat('b', 'y'), published('c', 'x')],
      ['eventType'],
    );
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'x']);
    expect(
      table.fields.map(({ steps }) => steps.join('.')).filter((path) => /body|subscription/.test(path)),
    ).toEqual([]);
    expect(table.outcomesOf('eventType')).toEqual([
      { value: 'x', total: 2, failed: 2 },
      { value: 'y', total: 1, failed: 1 },
    ]);
  });

  test.each(['at the top', 'in one object'])('are found behind 2,000 other fields %s', (place) => {
    const others = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`a${index}`, index]));
    const wide = place === 'at the top' ? others : { a: { b: others, c: others } };
    const { table, valuesOf } = tableOf([
      { ...wide, ...flat('a', 'x') },
      { ...wide, ...published('b', 'y') },
    ]);
    expect([table.rows, table.failed, table.untold, table.times.unknown]).toEqual([2, 2, 0, 0]);
    expect([valuesOf('eventType'), valuesOf('subscriptionId')]).toEqual([
      ['x', 'y'],
      ['s', 's'],
    ]);
  });
});

describe('ids in very many fields', () => {
  const ROWS = 520;
  /** The values that are kept of a field of ids, before the last event is known. */
  function keptOfEach(fields: number): number[] {
    const table = new ComparisonTable();
    for (let row = 0; row < ROWS; row++) {
      const ids = Object.fromEntries(Array.from({ length: fields }, (_, field) => [`id${field}`, `v${row}`]));
      table.add(Items.of([Buffer.from(JSON.stringify({ ...flat('a', 'x'), ids }))]));
    }
    const isOfIds = ({ steps }: { steps: readonly unknown[] }) => steps.length === 2;
    return table.fields.filter(isOfIds).map(({ texts }) => texts.length - 2);
  }

  test('are given up after a few hundred where memory needs it, and of few fields all are kept', () => {
    expect(new Set(keptOfEach(20))).toEqual(new Set([ROWS]));
    expect(keptOfEach(400)).toContain(0);
  });
});
