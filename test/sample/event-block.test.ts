import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventBlock } from '../../src/sample/event-block.ts';

const MIB = 1024 * 1024;

test('events that stay are the same after others were removed and the block has grown', () => {
  const steps = fc.array(
    fc.record({
      length: fc.integer({ min: 0, max: 3 * MIB }),
      removed: fc.option(fc.nat(), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (added) => {
      const block = new EventBlock();
      const kept: { byte: number; range: ReturnType<EventBlock['add']> }[] = [];
      for (const [place, { length, removed }] of added.entries()) {
        const byte = place + 1;
        kept.push({ byte, range: block.add(Buffer.alloc(length + 2, byte), 1, length + 1) });
        if (removed === undefined) continue;
        const [gone] = kept.splice(removed % kept.length, 1);
        block.remove(gone!.range);
      }
      expect(block.length).toBe(kept.reduce((sum, { range }) => sum + range.length, 0));
      for (const { byte, range } of kept)
        expect(block.view(range).equals(Buffer.alloc(range.length, byte))).toBe(true);
    }),
    { numRuns: 10 },
  );
});

test('the gaps of removed events are used again', () => {
  const block = new EventBlock();
  const text = Buffer.alloc(100_000, 'a');
  let last = block.add(text, 0, text.length);
  for (let event = 0; event < 2000; event++) {
    block.remove(last);
    last = block.add(text, 0, text.length);
    expect(last.start).toBeLessThan(2 * MIB);
  }
});
