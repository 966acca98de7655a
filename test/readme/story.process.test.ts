import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { liveStory, withoutCounts } from './story.ts';

test.skipIf(process.platform === 'win32')(
  'the webhooks example works as in the README, and each event reaches the handler once',
  { timeout: 120_000 },
  async () => {
    const readme = await readFile(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
    const lived = await liveStory(readme, inject('program'));
    expect(withoutCounts(lived.readme)).toBe(withoutCounts(readme));
    expect(lived.taken.size).toBeGreaterThan(100);
    expect([...lived.taken.values()].filter((times) => times !== 1)).toEqual([]);
  },
);
