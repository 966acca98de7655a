import { expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';

test('the demo signs in and searches without waiting for anything to time out', async () => {
  const [stdout, stderr] = [fakeOutput(), fakeOutput()];
  const never: Promise<void> = new Promise(() => undefined);
  const clock = { now: () => Date.now(), sleep: () => never };
  expect(await main(['demo'], createContext({ stdout, stderr, clock }))).toBe(0);
  expect(stderr.text.match(/^\$ .*/gm)).toEqual([
    '$ hooktrail login',
    '$ hooktrail event-types --match document',
    '$ hooktrail events search --failed --since 7d --limit 10',
    '$ hooktrail logout',
  ]);
  expect(stderr.text).not.toContain('warning');
  expect(stdout.text.match(/ {2}FAILED {2}/g)).toHaveLength(10);
});
