import { expect, test } from 'vitest';
import { spawnHooktrail } from '../support/process.ts';
import { startSearching } from '../support/searching.ts';
import { sampleOf } from '../support/seed.ts';

// Each in a process of its own: what one command loads is not there for the next.
test.each(sampleOf('markdown', 2, ['search', 'stats', 'explain', 'health']))(
  'events %s prints Markdown',
  async (command) => {
    await using at = await startSearching({ events: 5000 });
    const args = ['events', command, '--since', '1d', '-o', 'markdown'];
    const { code, stdout } = await spawnHooktrail(args, { env: at.env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\|.*\|\n\|[-:| ]+\|\n/)]);
    expect(stdout).toMatch(
      new RegExp(
        `hooktrail events ${command} --since 2026-11-19T12:\\S+Z -o markdown --until 2026-11-20T12:\\S+Z`,
      ),
    );
  },
);
