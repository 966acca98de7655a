import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { liveStory, withoutCounts } from './story.ts';

test('the example of webhooks.md works as it is written, and each event reaches the handler once', {
  timeout: 120_000,
}, async () => {
  const page = await readFile(path.resolve(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');
  const lived = await liveStory(page, inject('program'));
  expect(withoutCounts(lived.page)).toBe(withoutCounts(page));
  expect(lived.taken.size).toBeGreaterThan(100);
  expect([...lived.taken.values()].filter((times) => times !== 1)).toEqual([]);
});
