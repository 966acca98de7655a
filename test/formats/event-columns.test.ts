import { describe, expect, test } from 'vitest';
import { CsvColumns } from '../../src/formats/csv-columns.ts';
import { EVENT_HEADS, EVENT_PATHS, EventColumns } from '../../src/formats/event-columns.ts';
import { type FieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { isKnownName } from '../../src/items/known-fields.ts';
import { pageOf, print } from '../support/outputs.ts';

const itemWith = ({ steps }: FieldPath) =>
  steps.reduceRight<unknown>((value, name) => ({ [name]: value }), 'shown');

describe.each(EVENT_PATHS)('the column $text', (path) => {
  const flat = itemWith(path) as Record<string, unknown>;
  const isKnown = isKnownName(path.text);
  const items = isKnown ? [flat, { record: { eventId: 'e', ...flat } }] : [flat];

  test.each(items)('is in tables and CSV of an item such as %j', async (item) => {
    const page = [JSON.stringify({ first: 1, ...item })];
    const [titles, cells] = (await print([page])).text.split('\n').map((line) => line.split(/ +/));
    const { title } = EVENT_HEADS[path.text as keyof typeof EVENT_HEADS];
    expect(cells?.[titles?.indexOf(title) ?? -1]).toBe('shown');
    const csv = (await print([page], { format: 'csv' })).text;
    const places = csv.split('\r\n').map((line) => line.split(','));
    expect(places[1]?.[places[0]?.indexOf(path.text) ?? -1]).toBe('shown');
    expect(places[0]?.at(-1)).not.toBe(path.text);
  });
});

test('a column may be any path: of a member, through a list, derived, or inside a text', async () => {
  const columns = parseFieldPaths('createdOn,data.orderId,lines[].sku,data.note:length,text.a,missing.b');
  const item = {
    other: 1,
    lines: [{ sku: 'A' }, { sku: 'B' }],
    text: '{"a":7}',
    data: { orderId: 'A-1', note: 'abc' },
    createdOn: '2026-11-01',
  };
  const events = new EventColumns(columns);
  events.see(pageOf([JSON.stringify(item)]));
  expect(events.result()).toEqual(columns.slice(0, -1));
  const csvColumns = new CsvColumns('events', new EventColumns(columns));
  expect((await print([[JSON.stringify(item)]], { format: 'csv', csvColumns })).text.split('\r\n')).toEqual([
    'createdOn,data.orderId,lines[].sku,data.note:length,text.a,other,lines,text,data.note',
    '2026-11-01,A-1,"[""A"",""B""]",3,7,1,"[{""sku"":""A""},{""sku"":""B""}]","{""a"":7}",abc',
    '',
  ]);
});
