import fc from 'fast-check';
import { expect, test } from 'vitest';
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
