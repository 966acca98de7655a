import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MISSING } from '../../src/items/field-cursor.ts';
import { Items } from '../../src/items/items.ts';
import { RECORD_FIELDS, RecordFields } from '../../src/sample/record-fields.ts';
import { itemsOfText } from '../../src/sources/item-text.ts';

const name = fc.constantFrom(
  '"eventId"',
  '"subscriptionId"',
  '"publishStatus"',
  '"createdOn"',
  '"created\\u004fn"',
  '"\\u0065ventId"',
  '"currency"',
  '"eventType"',
);
const scalar = fc.constantFrom('"a"', '"b"', '""', 'null', '7', '[]', '{}');
const objectOf = (value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(name, value), { maxLength: 5 })
    .map((members) => `{${members.map((member) => member.join(':')).join(',')}}`);
const inner = fc.oneof(
  scalar,
  objectOf(scalar),
  objectOf(scalar).map((object) => `[${object}]`),
);
const record = fc.array(fc.tuple(fc.oneof(name, fc.constantFrom('"eventData"', '"other"')), inner), {
  maxLength: 6,
});

/** What is read of each item. */
function fieldsOf(items: Items) {
  const fields = new RecordFields();
  return Array.from({ length: items.count }, (_, item) => {
    fields.read(items, item);
    const texts = Object.values(RECORD_FIELDS).map((field) => fields.text(field));
    return { texts, eventAt: fields.eventAt && fields.eventAt - items.start(item) };
  });
}

test('fields found as a text is checked are those found later, wherever the event is in its item', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 4 }), async (records) => {
      const lines = records.map((members) => `{${members.map((member) => member.join(':')).join(',')}}`);
      const text = async function* () {
        yield Buffer.from(lines.join('\n'));
      };
      for await (const items of itemsOfText(text(), 'a file')) {
        expect(items.fieldOffsets).toBeDefined();
        const later = Items.of(items.texts());
        expect(fieldsOf(items)).toEqual(fieldsOf(later));
        const some = [...Array(items.count).keys()].filter((item) => item % 2 === 1);
        expect(fieldsOf(items.pick(some))).toEqual(fieldsOf(later.pick(some)));
      }
    }),
  );
});

test('the event in a record is found with its known fields, which the record has first', async () => {
  const lines = [
    '{"publishStatus":"FAILED","createdOn":"t","subscriptionId":"s","event":{"eventId":"e"}}',
    '{"eventId":"e","createdOn":null,"publishStatus":"SUCCESS","event":{"eventId":"f","createdOn":"u"}}',
    '{"event":{"eventId":"e","createdOn":"u","subscriptionId":7}}',
    '{"a":1}',
  ];
  const expected = [
    { texts: ['FAILED', 't', 's'], missing: [], event: '{"eventId":"e"}}' },
    { texts: ['SUCCESS', undefined, undefined], missing: ['subscription'], event: undefined },
    { texts: [undefined, 'u', undefined], missing: ['outcome'], event: lines[2]?.slice(9) },
    {
      texts: [undefined, undefined, undefined],
      missing: ['outcome', 'createdOn', 'subscription'],
      event: undefined,
    },
  ];
  const readOf = (items: Items) => {
    const fields = new RecordFields();
    return Array.from({ length: items.count }, (_, item) => {
      fields.read(items, item);
      const at = fields.eventAt;
      return {
        texts: Object.values(RECORD_FIELDS).map((field) => fields.text(field)),
        missing: Object.entries(RECORD_FIELDS).flatMap(([name, field]) =>
          fields.starts[field] === MISSING ? [name] : [],
        ),
        event: at === 0 ? undefined : items.bytes.toString('utf8', at, items.end(item)),
      };
    });
  };
  expect(readOf(Items.of(lines.map((line) => Buffer.from(line))))).toEqual(expected);
  const text = async function* () {
    yield Buffer.from(lines.join('\n'));
  };
  const read = [];
  for await (const items of itemsOfText(text(), 'a file')) {
    expect(items.fieldOffsets).toBeDefined();
    read.push(...readOf(items));
  }
  expect(read).toEqual(expected);
});
