import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventBlock } from '../../src/sample/event-block.ts';

const MIB = 1024 * 1024;

test('events that stay are the same after others were replaced or deleted and the block has grown', () => {
  const steps = fc.array(
    fc.record({
      place: fc.nat({ max: 9 }),
      length: fc.oneof(fc.integer({ min: 0, max: 3 * MIB }), fc.integer({ min: 0, max: 20 })),
      deleted: fc.option(fc.nat({ max: 9 }), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const block = new EventBlock();
      const kept = new Map<number, Buffer>();
      for (const [step, { place, length, deleted }] of all.entries()) {
        const event = Buffer.alloc(length, step + 1);
        kept.set(place, event);
        block.set(place, Buffer.concat([Buffer.from('a'), event, Buffer.from('z')]), 1, length + 1);
        if (deleted === undefined) continue;
        kept.delete(deleted);
        block.delete(deleted);
      }
      expect(block.length).toBe([...kept.values()].reduce((sum, event) => sum + event.length, 0));
      for (const [place, event] of kept) expect(block.view(place).equals(event)).toBe(true);
    }),
    { numRuns: 10 },
  );
});

test.each(['replaced', 'deleted'])('the bytes of %s events are used again', (how) => {
  const block = new EventBlock();
  for (let event = 0; event < 2000; event++) {
    // Each is longer than the last one, so none fits in its place.
    const text = Buffer.alloc(100_000 + event, 'a');
    if (how === 'deleted') block.delete(0);
    block.set(0, text, 0, text.length);
    expect(block.view(0).byteOffset).toBeLessThan(2 * MIB);
  }
});
