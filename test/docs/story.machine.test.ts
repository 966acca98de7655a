import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { liveStories, withoutCounts } from './story.ts';

test('the stories of webhooks.md work as they are written, and each event reaches the handler once', {
  timeout: 240_000,
}, async () => {
  const page = await readFile(path.resolve(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');
  const lived = await liveStories(page, inject('program'));
  expect(withoutCounts(lived.page)).toBe(withoutCounts(page));
  // The handler of the first is a line of its own.
  const [, taken = new Map<string, number>()] = lived.taken;
  expect(taken.size).toBeGreaterThan(60);
  expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
});
