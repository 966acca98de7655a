import xterm from '@xterm/headless';
import { describe, expect, test } from 'vitest';
import { startHooktrail } from '../support/program.ts';
import { type Searching, startSearching } from '../support/searching.ts';
import { knownOf } from '../support/shape.ts';

interface Screen {
  readonly lines: readonly string[];
  /** Lines that did not fit and go on below. */
  readonly wrapped: readonly string[];
  /** The beginning of the line that each of them belongs to. */
  readonly beginnings: readonly string[];
}

/**
 * Returns the screen of a terminal of that many columns when the command has ended, high enough for all of
 * its output.
 */
async function screenOf(
  searching: Searching,
  args: readonly string[],
  columns: number,
  of: 'screen' | 'stdout' = 'screen',
): Promise<Screen> {
  // Without a spinner: its library erases it only before output to the streams of a process.
  const env = { ...searching.env, PAGER: 'cat', ACCESSIBLE: '1' };
  const running = startHooktrail(args, { env, terminal: columns });
  await running.finished;
  const terminal = new xterm.Terminal({ cols: columns, rows: 200, allowProposedApi: true, convertEol: true });
  await new Promise<void>((resolve) => terminal.write(running[of], resolve));
  const { active } = terminal.buffer;
  const all = Array.from({ length: active.length }, (_, row) => active.getLine(row));
  const lines = all.map((line) => line?.translateToString(true) ?? '');
  const wrapped: string[] = [];
  const beginnings: string[] = [];
  let beginning = '';
  for (const [row, line] of all.entries()) {
    const text = lines[row] as string;
    if (!line?.isWrapped) {
      beginning = text;
      continue;
    }
    wrapped.push(text);
    beginnings.push(beginning);
  }
  return { lines: lines.slice(0, lines.findLastIndex((line) => line !== '') + 1), wrapped, beginnings };
}

const ID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/;

describe.each([80, 100, 160])('a terminal of %i columns', (columns) => {
  test('shows each event on one line, its id whole or not at all, and below them what is left out and was searched', async () => {
    await using searching = await startSearching({ events: 900 });
    for (const args of [['--failed'], ['--status', 'failed,success'], []]) {
      const { lines, wrapped } = await screenOf(
        searching,
        ['events', 'search', '-n', '20', ...args],
        columns,
      );
      expect(wrapped.filter((line) => ID.test(line))).toEqual([]);
      expect(lines[0]).toMatch(/^(createdOn|\d{4}(-\d\d){2}) .*status +eventType .*(subscrip|address)/i);
      expect(lines.slice(1, 21).filter((line) => !/\d\d:\d\d:\d\d.*Z +(FAILED|SUCCESS) /.test(line))).toEqual(
        [],
      );
      const hasIds = lines[0]?.includes('eventId') === true;
      expect(lines.slice(1, 21).filter((line) => hasIds && !ID.test(line))).toEqual([]);
      expect(lines[21]).toMatch(hasIds ? /^20 of [\d,]+ events$/ : /^columns left out: eventId/);
      expect(lines.filter((line) => line.startsWith('searched '))).toHaveLength(1);
    }
  });

  test('shows an event whole, and several as a table with whole ids', async () => {
    await using searching = await startSearching({ events: 30 });
    const ids = searching.sandbox.control.store.newestIds(3);
    const one = await screenOf(searching, ['events', 'get', ids[0] as string], columns);
    expect(knownOf(JSON.parse(one.lines.join('\n'))).eventId).toBe(ids[0]);
    const { lines, wrapped } = await screenOf(searching, ['events', 'get', ...ids], columns, 'stdout');
    expect(wrapped).toEqual([]);
    expect(lines.slice(1).map((line) => ID.exec(line)?.[0])).toEqual(ids);
  });

  test('shows the titles of narrow tables among those of wide ones', async () => {
    await using searching = await startSearching({ events: 50 });
    const titles = async (width: number) =>
      (await screenOf(searching, ['events', 'search', '-n', '5'], width)).lines[0]?.split(/ +/) ?? [];
    const wide = await titles(300);
    const isOneOf = (title: string) =>
      wide.some((one) => one.toLowerCase().endsWith(title.replace(/…$/, '').toLowerCase()));
    expect((await titles(columns)).filter((title) => !isOneOf(title))).toEqual([]);
  });

  test.each([
    ['stats', ['events', 'stats', '--since', '7d']],
    ['stats --by', ['events', 'stats', '--since', '7d', '--by', 'eventType,publishStatus']],
    ['health', ['events', 'health', '--since', '7d']],
    ['explain', ['events', 'explain', '--since', '7d']],
    ['event-types', ['event-types']],
  ])('fits the lines of %s', async (_, args) => {
    await using searching = await startSearching({ events: 800 });
    const { lines, beginnings } = await screenOf(searching, args, columns, 'stdout');
    // A command to copy is one line, however long.
    expect(beginnings.filter((line) => !line.startsWith('next: '))).toEqual([]);
    expect(lines.length).toBeGreaterThan(2);
  });
});
