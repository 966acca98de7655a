import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ValueCodes } from '../../src/sample/value-codes.ts';

test('values have the codes that they were added with, wherever their bytes stand', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ maxLength: 40 }), { maxLength: 300 }),
      fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 30 }),
      (known, asked) => {
        const codes = new ValueCodes();
        const codeOf = new Map(known.map((text, index) => [text, 2 + index]));
        for (const [text, code] of codeOf) {
          const bytes = Buffer.from(text);
          codes.add(bytes, 0, bytes.length, code);
        }
        const found = (text: string) => {
          const bytes = Buffer.from(`"${text}"`);
          return codes.get(bytes, 1, bytes.length - 1);
        };
        for (const text of [...known, ...asked]) expect(found(text)).toBe(codeOf.get(text));
        expect([...codes.entries()].map(([bytes, code]) => [String(bytes), code])).toEqual([...codeOf]);
        expect(codes.size).toBe(known.length);
      },
    ),
  );
});
