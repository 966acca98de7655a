import { expect, test } from 'vitest';
import { startSearching } from '../../support/searching.ts';
import { hasTerminal, startOnTerminal } from '../../support/terminal.ts';

test.skipIf(!hasTerminal)('a terminal that tells no size has 80 columns', async () => {
  await using slow = await startSearching({ events: 3, latencyMs: 500 });
  const terminal = startOnTerminal(['events', 'search', '--no-color'], { env: slow.env, columns: 0 });
  expect(await terminal.finished).toBe(0);
  expect(terminal.screen).toContain('searching');
  const rows = shownLines(terminal.screen).slice(0, 4);
  expect(rows[0]).toMatch(/^createdOn/);
  expect(rows.every((row) => row.length <= 80)).toBe(true);
});

test.skipIf(!hasTerminal)('progress leaves nothing between the rows on one terminal', async () => {
  await using slow = await startSearching({ events: 130, latencyMs: 300 });
  const args = ['events', 'search', '--all', '--page-size', '50', '--concurrency', '1', '--no-color'];
  const terminal = startOnTerminal(args, { env: slow.env, columns: 100 });
  expect(await terminal.finished).toBe(0);
  expect(terminal.screen).toContain('searching: ');
  // What comes after the rows is the next step it offers.
  const rows = shownLines(terminal.screen).slice(0, 131);
  expect(rows.map((line) => line.split(/ {2,}/)[3])).toEqual([
    'eventId',
    ...slow.sandbox.control.store.newestIds(130),
  ]);
});

/** The lines that stay on a terminal, as far as a spinner's line can be drawn over: none of its frames holds a line feed. */
function shownLines(screen: string): string[] {
  return screen
    .split('\r\n')
    .slice(0, -1)
    .map((line) => {
      const text = line.slice(line.lastIndexOf('\u001b[1G') + 1);
      return text.replace(/^\[1G/, '').replace(/\u001b\[[?\d;]*[a-zA-Z]/g, '');
    });
}
