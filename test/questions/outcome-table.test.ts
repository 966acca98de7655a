import { expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { OutcomeTable } from '../../src/questions/outcome-table.ts';

test('more events than fit in memory are an error that says how to ask about fewer', () => {
  const table = new OutcomeTable();
  table.rows = 6_000_000;
  const items = Items.of([Buffer.from('{"publishStatus":"FAILED"}')]);
  expect(() => table.see({ items, haveFailed: undefined })).toThrow(
    'there are more than 6 million events: too many to compare at once',
  );
});
