import { expect, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { clockWith, NOON } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';

test('the demo signs in and searches without waiting for a time-out', async () => {
  const [stdout, stderr] = [fakeOutput(), fakeOutput()];
  const clock = clockWith({
    now: () => NOON,
    // Time does not pass in this context; an aborted sleep rejects.
    sleep: (_, signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  });
  expect(await main(['demo'], createContext({ stdout, stderr, clock }))).toBe(0);
  expect(stderr.text.match(/^\$ .*/gm)).toEqual([
    '$ hooktrail login',
    '$ hooktrail event-types --match document',
    '$ hooktrail events search --failed --since 7d --limit 10',
    '$ hooktrail events explain',
    '$ hooktrail logout',
  ]);
  expect(stderr.text).not.toContain('warning');
  // In that shell `hooktrail login` needs no browser either.
  expect(stderr.text).toMatch(
    /\nA shell for the commands above:\n {2}hooktrail sandbox --auto-approve -- sh\nYour own service:\n {2}hooktrail login\n$/,
  );
  expect(stdout.text.match(/ {2}FAILED {2}/g)).toHaveLength(10);
  // An answer that is read at a glance: the outage that goes on, one that is over, and what to look at.
  expect(stdout.text.match(/^next: .*/gm)).toHaveLength(3);
});

test('on a terminal the demo prints its commands in bold', async () => {
  const [stdout, stderr] = [fakeOutput(80), fakeOutput(80)];
  expect(await main(['demo'], createContext({ stdout, stderr, environment: { TERM: 'xterm' } }))).toBe(0);
  expect(stderr.text).toContain('\u001b[1mhooktrail login\u001b[22m\n');
  expect(stderr.text + stdout.text).not.toContain('\\u001b');
});
