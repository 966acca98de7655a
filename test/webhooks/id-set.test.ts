import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventKey } from '../../src/webhooks/event-key.ts';
import { IdSet } from '../../src/webhooks/id-set.ts';

test('holds the same ids as a Set of strings', () => {
  // Only few bytes differ, so that ids collide in slots and some are added twice.
  const id = fc.tuple(fc.nat(3), fc.nat(3), fc.constantFrom(0, 4, 8, 15)).map(([value, more, at]) => {
    const bytes = Buffer.alloc(16);
    bytes[at] = value;
    bytes[0] = more;
    return bytes;
  });
  fc.assert(
    fc.property(fc.array(id, { maxLength: 200 }), fc.array(id), (added, asked) => {
      const set = new IdSet();
      const model = new Set<string>();
      for (const bytes of added) {
        expect(set.add(bytes)).toBe(!model.has(bytes.toString('hex')));
        model.add(bytes.toString('hex'));
      }
      expect(set.size).toBe(model.size);
      for (const bytes of asked) expect(set.has(bytes)).toBe(model.has(bytes.toString('hex')));
    }),
  );
});

test('the id of zeros is an id like any other', () => {
  const set = new IdSet();
  expect(set.has(Buffer.alloc(16))).toBe(false);
  expect([set.add(Buffer.alloc(16)), set.add(Buffer.alloc(16)), set.size]).toEqual([true, false, 1]);
  expect(set.has(Buffer.alloc(16))).toBe(true);
});

test.each([
  ['random ids', () => randomBytes(16)],
  [
    'ids that count upwards',
    (index: number) => {
      const bytes = Buffer.alloc(16);
      bytes.writeUInt32BE(index, 12);
      return bytes;
    },
  ],
])('%s take at most 30 bytes each, and are read at any offset', (_name, make) => {
  const count = 200_000;
  const all = Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
  for (const set of [new IdSet(), new IdSet(count)]) {
    for (let at = 0; at < all.length; at += 16) set.add(all, at);
    expect(set.size).toBe(count);
    expect(set.bytes / count).toBeLessThan(30);
    for (let at = 0; at < all.length; at += 16) if (!set.has(all, at)) expect.fail(`lost the id at ${at}`);
  }
});

test('a GUID is stored as its 16 bytes, ignoring case, any other text as a hash', () => {
  const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  expect(eventKey(guid).toString('hex')).toBe('0f8fad5bd9cb469fa16570867728950e');
  expect(eventKey(guid.toUpperCase())).toEqual(eventKey(guid));
  const others = ['', 'a', 'A', ` ${guid}`, `${guid}0`, guid.replaceAll('-', ''), '\u0000', 'ä'];
  const keys = others.map((text) => eventKey(text).toString('hex'));
  expect(new Set([...keys, eventKey(guid).toString('hex')]).size).toBe(others.length + 1);
  for (const key of keys) expect(key).toHaveLength(32);
});
