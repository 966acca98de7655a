import { expect, test } from 'vitest';
import { BodyMemory, type Memory } from '../../src/http/body-memory.ts';

const PAGE = 270_000;
const take = (memory: BodyMemory, length: number) => memory.take(length) as Memory;

test('what is released serves the next body, and only one of them', () => {
  const memory = new BodyMemory();
  const first = take(memory, PAGE);
  const second = take(memory, PAGE);
  expect(second.bytes).not.toBe(first.bytes);
  first.release();
  first.release();
  const third = take(memory, PAGE + 100);
  expect(third.bytes).toBe(first.bytes);
  expect(take(memory, PAGE).bytes).not.toBe(first.bytes);
});

test('a larger body gets larger memory', () => {
  const memory = new BodyMemory();
  take(memory, PAGE).release();
  expect(take(memory, 2 * PAGE).bytes.length).toBeGreaterThanOrEqual(2 * PAGE);
});

test.each([Number.NaN, 0, 600, -1, 2 ** 40])('a length of %d is left to others', (length) => {
  expect(new BodyMemory().take(length)).toBeUndefined();
});
