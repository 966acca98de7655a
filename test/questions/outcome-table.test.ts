import { expect, test } from 'vitest';
import { OutcomeTable } from '../../src/questions/outcome-table.ts';
import { at, eventsOf, pageOf } from './outcome-pages.ts';

test('events of known outcome have a row, with their time and outcome', () => {
  const table = new OutcomeTable();
  table.see(pageOf(eventsOf('FPS')));
  table.see(pageOf([{ createdOn: 'never', publishStatus: 'FAILED' }, { publishStatus: 'SUCCESS' }]));
  table.see(pageOf([{ createdOn: at(7) }], true));
  table.see(pageOf([{ createdOn: at(8) }], false));
  const rows = Array.from({ length: table.rows }, (_, row) => [
    table.times.isKnown(row) ? table.times.at(row).text : null,
    table.failures[row],
  ]);
  expect(rows).toEqual([
    [at(0), 1],
    [at(2), 0],
    [null, 1],
    [null, 0],
    [at(7), 1],
    [at(8), 0],
  ]);
  expect([table.failed, table.unknownOutcomes]).toEqual([3, 1]);
});

test('many events keep their outcomes', () => {
  const table = new OutcomeTable();
  const outcomes = 'FSS'.repeat(1000);
  table.see(pageOf(eventsOf(outcomes)));
  expect(Array.from(table.failures.subarray(0, table.rows), (failed) => (failed ? 'F' : 'S')).join('')).toBe(
    outcomes,
  );
});

test('events are counted by type, whatever its case, as first written', () => {
  const table = new OutcomeTable();
  const typed = (eventType: unknown) => eventsOf('FS', { eventType });
  table.see(pageOf([...typed('Order.Paid'), ...typed('order.paid'), ...typed(null), ...typed('other')]));
  table.see(pageOf(eventsOf('P', { eventType: 'unknown' })));
  expect(table.types).toEqual([
    { value: 'Order.Paid', total: 4, failed: 2 },
    { value: null, total: 2, failed: 1 },
    { value: 'other', total: 2, failed: 1 },
  ]);
});

test('more events than fit in memory are an error that says how to ask about fewer', () => {
  const table = new OutcomeTable();
  table.rows = 6_000_000;
  expect(() => table.see(pageOf([]))).not.toThrow();
  expect(() => table.see(pageOf(eventsOf('F')))).toThrow(
    expect.objectContaining({
      message: 'there are more than 6 million events: too many to compare at once',
      next: 'narrow the time with --since and --until, or choose events with --type or --subscription',
    }),
  );
});
