import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Pager } from '../../src/context.ts';
import { ClosedPipeError } from '../../src/errors.ts';
import { clock } from '../support/clock.ts';
import { startHooktrail } from '../support/program.ts';
import { type Searching, startSearching } from '../support/searching.ts';

/** A pager that records its input, and that the user leaves after that many writes. */
function fakePager(patience = Number.POSITIVE_INFINITY) {
  const seen = { commands: [] as string[], text: '', isEnded: false };
  const openPager = async (command: string): Promise<Pager> => {
    seen.commands.push(command);
    let writes = 0;
    return {
      write: async (chunk) => {
        if (++writes > patience) throw new ClosedPipeError();
        seen.text += chunk.toString();
      },
      end: async () => {
        seen.isEnded = true;
      },
    };
  };
  return { seen, openPager };
}

async function search(searching: Searching, args: readonly string[], more: object = {}) {
  const pager = fakePager();
  const env = { ...searching.env, NO_COLOR: '1', PAGER: 'more -x', ...more };
  const running = startHooktrail(['events', 'search', ...args], {
    env,
    terminal: 80,
    context: { openPager: pager.openPager },
  });
  return { ...(await running.finished), pager: pager.seen };
}
const rows = (text: string) =>
  text.split('\n').filter((line) => /^[\d :-]+\d\d:\d\d:\d\d.*Z /.test(line)).length;

describe('a search on a terminal', () => {
  test('prints 30 rows, and says how many there are', async () => {
    await using searching = await startSearching({ events: 100 });
    const { code, stdout, stderr, pager } = await search(searching, []);
    expect([code, rows(stdout), pager.commands]).toEqual([0, 30, []]);
    // On a busy machine a spinner may appear and disappear before.
    expect(stderr).toContain('the first 30 of 100 events; --all prints all of them\n');
    // Only as many events are requested as are shown.
    expect(searching.queries()[0]).toMatch(/limit\(1,30\)$/);
  });

  test('a locale without UTF-8 gets cut cells in ASCII', async () => {
    await using searching = await startSearching({ events: 0 });
    searching.control.addEvent({
      eventType: 'document.with-a-name-that-no-column-of-80-has-room-for.signed',
    });
    const { stdout } = await search(searching, [], { LC_ALL: 'C' });
    expect(stdout).toContain('~');
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
  });

  test.each([
    ['events search --since 7d', '2 events'],
    ['events search --since 7d -n 1', '1 of 2 events'],
    ['events search --since 7d -n 2', '2 events'],
    ['event-types --match invoice', '2 event types'],
  ])('says below a short table how many there are: %s', async (line, count) => {
    await using searching = await startSearching({ events: 0 });
    for (const createdOn of ['2026-11-19T08:00:00Z', '2026-11-19T09:00:00Z'])
      searching.control.addEvent({ createdOn });
    const { stderr } = await searching.run(line.split(' '), { terminal: 120 });
    // On a busy machine a spinner may appear and disappear before.
    expect(stderr).toMatch(new RegExp(`(^|\n|\\[0K)${count}\n`));
    expect((await searching.run(line.split(' '))).stderr).toBe('');
  });

  test.each([[['--all']], [['--limit', '60']], [['--json']], [['--csv', '--all']]])(
    'shows %j through the pager if it does not fit the screen',
    async (args) => {
      await using searching = await startSearching({ events: 100 });
      const { code, stdout, pager } = await search(searching, args);
      expect([code, stdout, pager.commands, pager.isEnded]).toEqual([0, '', ['more -x'], true]);
      const direct = await search(searching, [...args, '--no-pager']);
      expect(pager.text).toBe(direct.stdout);
      expect(direct.pager.commands).toEqual([]);
    },
  );

  test.each<[string, string[], Record<string, string>]>([
    ['what fits the screen', ['--limit', '20'], {}],
    ['what fits the screen in colour', ['--limit', '20'], { NO_COLOR: '' }],
    ['with PAGER=cat', ['--all'], { PAGER: 'cat' }],
    ['with an empty HOOKTRAIL_PAGER', ['--all'], { HOOKTRAIL_PAGER: '' }],
    ['on a dumb terminal', ['--all'], { TERM: 'dumb' }],
  ])('prints %s without a pager', async (_, args, more) => {
    await using searching = await startSearching({ events: 100 });
    const { code, stdout, pager } = await search(searching, args, more);
    expect([code, rows(stdout) > 19, pager.commands]).toEqual([0, true, []]);
  });

  test('progress leaves no traces between the rows', async () => {
    await using searching = await startSearching({ events: 20 });
    const args = ['events', 'search', '--page-size', '10', '--concurrency', '1'];
    const env = { ...searching.env, NO_COLOR: '1' };
    const running = startHooktrail(args, { env, terminal: 160 });
    // The second page is sent once the progress is visible.
    const screenLater = () => {
      clock.advance(500);
      return running.screen;
    };
    const isSeen = () => expect.poll(screenLater).toContain('searching: ');
    searching.control.fault('events', { kind: 'pass' }, { kind: 'run', run: isSeen });
    expect((await running.finished).code).toBe(0);
    expect(running.screen).toContain('searching: ');
    // A carriage return or an erased line overwrites what a spinner wrote, since no frame contains a line
    // feed.
    const lines = running.screen
      .split('\n')
      .map((line) => stripVTControlCharacters(line.slice(line.lastIndexOf('\u001b[0K') + 1)));
    expect(lines.slice(0, 21).map((line) => line.split(/ {2,}/)[3])).toEqual([
      'eventId',
      ...searching.control.store.newestIds(20),
    ]);
  });

  test('messages stand below the table, also where no pager is needed', async () => {
    await using searching = await startSearching({ events: 10 });
    searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    const { openPager, seen } = fakePager();
    const running = startHooktrail(['events', 'search', '--failed', '-n', '1'], {
      env: { ...searching.env, NO_COLOR: '1', PAGER: 'less' },
      terminal: 160,
      context: { openPager },
    });
    await running.finished;
    const lines = running.screen.split('\n').map((line) => line.split(' ')[0]);
    expect([lines[0], lines.slice(2), seen.commands]).toEqual([
      'createdOn',
      ['1', 'searched', 'next:', 'next:', ''],
      [],
    ]);
  });

  test('stops reading and succeeds when the user leaves the pager', async () => {
    await using searching = await startSearching({ events: 2000 });
    const { seen, openPager } = fakePager(1);
    const running = startHooktrail(
      ['events', 'search', '--all', '--page-size', '100', '--concurrency', '1'],
      {
        env: { ...searching.env, NO_COLOR: '1', PAGER: 'less' },
        terminal: 80,
        context: { openPager },
      },
    );
    const { code, stderr } = await running.finished;
    expect([code, stderr.includes('error')]).toEqual([0, false]);
    expect([rows(seen.text), seen.isEnded]).toEqual([100, true]);
    expect(searching.queries().length).toBeLessThan(5);
  });
});
