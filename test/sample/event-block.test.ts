import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
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

describe('events in a block', () => {
  const add = (block: EventBlock, place: number, length: number) => {
    const event = Buffer.alloc(length, 65 + place);
    block.set(place, event, 0, length);
  };
  const blockOf = (...lengths: readonly number[]) => {
    const block = new EventBlock();
    for (const [place, length] of lengths.entries()) add(block, place, length);
    return block;
  };
  const offset = (block: EventBlock, place: number) => block.view(place).byteOffset;

  test('stay where they are as others come', () => {
    const block = blockOf(5, 7, 3, 0);
    expect([0, 1, 2, 3].map((place) => offset(block, place))).toEqual([0, 5, 12, 15]);
    expect([0, 1, 2, 3].map((place) => String(block.view(place)))).toEqual(['AAAAA', 'BBBBBBB', 'CCC', '']);
    expect(block.length).toBe(15);
  });

  test('stand in the place of one that was as long or longer, and behind the others if it was shorter', () => {
    const block = blockOf(5, 3);
    add(block, 0, 2);
    expect([offset(block, 0), String(block.view(0)), block.length]).toEqual([0, 'AA', 5]);
    add(block, 0, 5);
    expect([offset(block, 0), String(block.view(0)), block.length]).toEqual([0, 'AAAAA', 8]);
    add(block, 0, 6);
    expect([offset(block, 0), String(block.view(0)), block.length]).toEqual([8, 'AAAAAA', 9]);
    expect(String(block.view(1))).toBe('BBB');
  });

  test('move together, in the same memory, once more than 1 MiB between them is free', () => {
    for (const [free, moved] of [
      [MIB, false],
      [MIB + 1, true],
    ] as const) {
      const block = blockOf(free, 100);
      const { buffer } = block.view(1);
      block.delete(0);
      add(block, 2, 100);
      expect(offset(block, 1)).toBe(moved ? 0 : free);
      expect(offset(block, 2)).toBe(moved ? 100 : free + 100);
      expect(block.view(1).buffer).toBe(buffer);
      expect(block.length).toBe(200);
    }
  });

  test('of many bytes move together once more than an eighth of that is free', () => {
    for (const [large, moved] of [
      [12 * MIB, false],
      [11 * MIB, true],
    ] as const) {
      const block = blockOf(1.5 * MIB, large);
      block.delete(0);
      add(block, 2, 100);
      expect(offset(block, 1)).toBe(moved ? 0 : 1.5 * MIB);
    }
  });

  test('are gone once the block was cleared', () => {
    const block = blockOf(5, 3);
    block.clear();
    expect(block.length).toBe(0);
    expect(() => block.view(0)).toThrow(TypeError);
    add(block, 1, 4);
    expect([offset(block, 1), String(block.view(1)), block.length]).toEqual([0, 'BBBB', 4]);
  });
});
