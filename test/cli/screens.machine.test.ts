import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasTerminal, type OnTerminal, startOnTerminal, startShell } from '../support/machine/terminal.ts';
import { type Searching, startSearching } from '../support/searching.ts';
import { startSigningIn } from '../support/signing-in.ts';

const ID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/;
/** Every screen tells of an event when it was, how it ended and of which type it is. */
const EVENT = /\d\d:\d\d:\d\d\S* +(SUCCESS|FAILED) +[a-z]+\.[a-z]+/;
const plain = ({ env }: Searching) => ({ ...env, NO_COLOR: '1', LC_ALL: 'C.UTF-8' });

/** Waits until the screen, as a person sees it, holds. */
async function sees(terminal: OnTerminal, holds: (lines: string[]) => void): Promise<void> {
  await expect.poll(async () => terminal.seen().then(holds), { interval: 20 }).toBe(undefined);
}

/** The list of `events browse` on a screen of that size: a title, the events, the keys. */
const isWholeList = (rows: number, count: number) => (lines: string[]) => {
  expect(lines).toHaveLength(rows);
  expect(lines[0]).toMatch(new RegExp(`^ ?${count} events +default: 127`));
  expect(lines.at(-1)).toMatch(/enter open/);
  const events = lines.filter((line) => EVENT.test(line));
  expect(events.length).toBeGreaterThanOrEqual(rows - 6);
  expect(events.filter((line) => line.startsWith('❯'))).toHaveLength(1);
};

const SIZES = [
  [80, 24],
  [100, 30],
  [160, 50],
] as const;

describe.skipIf(!hasTerminal).each(SIZES)('a terminal of %i columns and %i rows', (columns, rows) => {
  test('browse fills it: a title, an event a line, and the keys', async () => {
    await using at = await startSearching({ events: 200 });
    const terminal = startOnTerminal(['events', 'browse'], { env: plain(at), columns, rows });
    await sees(terminal, isWholeList(rows, 200));
    terminal.type('\r');
    await sees(terminal, (lines) => {
      expect(lines[0]).toMatch(/event, lines 1 to \d+ of \d+|event/);
      expect(lines.filter((line) => /^ +"eventId": "/.test(line))).toHaveLength(1);
      expect(lines.at(-1)).toMatch(/q /);
    });
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
    expect((await terminal.seen()).filter((line) => ID.test(line))).toEqual([]);
  });

  test('login shows the whole URL, and a line for what the browser ends up at', async () => {
    await using at = await startSigningIn();
    const env = { ...at.env, NO_COLOR: '1' };
    const terminal = startOnTerminal(['login', '--no-browser'], { env, columns, rows });
    await terminal.shows(/code_challenge_method=S256/);
    await sees(terminal, (lines) => {
      const begin = lines.findIndex((line) => line.startsWith('http://127'));
      expect(lines[begin - 1]).toMatch(/^(Sign in in a browser at|Open)/);
      const { searchParams } = new URL(
        lines
          .slice(begin)
          .join('')
          .replace(/(S256).*/, '$1'),
      );
      expect(searchParams.get('client_id')).toBe('hooktrail-sandbox');
    });
    terminal.type('\u0003');
    expect(await terminal.finished).toBe(130);
  });
});

describe.skipIf(!hasTerminal)('on a terminal', () => {
  test('browse has the new size at once, smaller and larger', async () => {
    await using at = await startSearching({ events: 200 });
    const terminal = startOnTerminal(['events', 'browse'], { env: plain(at), columns: 100, rows: 30 });
    await sees(terminal, isWholeList(30, 200));
    for (const [columns, rows] of [
      [80, 24],
      [160, 50],
      [100, 30],
    ] as const) {
      await terminal.resize(columns, rows);
      await sees(terminal, isWholeList(rows, 200));
    }
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('a watch that is suspended and continued prints what came meanwhile', async () => {
    await using at = await startSearching({ events: 5 });
    const shell = startShell({ env: plain(at), columns: 100 });
    shell.type(`${shell.command(['events', 'watch', '--interval', '1s', '--fields', 'eventType'])}\n`);
    await shell.shows(/watching events/);
    shell.type('\u001a');
    await shell.shows(/Stopped/);
    at.sandbox.control.addEvent({ eventType: 'came.meanwhile' });
    shell.type('fg\n');
    await shell.shows(/came\.meanwhile/);
    shell.type('\u0003');
    await shell.shows(/to resume: /);
    shell.type('exit $?\n');
    expect(await shell.finished).toBe(130);
  });

  test('`| head` and `| less` get rows of their own, and the prompt is clean behind them', async () => {
    await using at = await startSearching({ events: 2000 });
    const shell = startShell({ env: plain(at), columns: 160, rows: 24 });
    const search = shell.command(['events', 'search', '--all']);
    shell.type(`clear; ${search} | head -3; echo "exit \${PIPESTATUS[*]}"\n`);
    await shell.shows(/\nexit 0 0/);
    const lines = (await shell.seen()).filter((line) => !line.includes(search));
    expect(lines.slice(0, 4).map((line) => /^(createdOn|exit)|^\d{4}-/.exec(line)?.[0])).toEqual(
      expect.arrayContaining(['createdOn', '2026-']),
    );
    expect(lines.filter((line) => ID.test(line))).toHaveLength(2);
    shell.type(`${search} | less -S; echo "exit \${PIPESTATUS[*]}"\n`);
    await sees(shell, (seen) => {
      expect(seen[0]).toMatch(/^createdOn/);
      expect(seen.slice(1, 23).filter((line) => !ID.test(line))).toEqual([]);
    });
    shell.type('q');
    await shell.shows(/exit 0 0/);
    shell.type('exit\n');
    expect(await shell.finished).toBe(0);
  });

  test('its own pager is a real one, which one leaves with q', async () => {
    await using at = await startSearching({ events: 200 });
    const file = path.join(at.env['HOME'] as string, 'lesshst');
    await writeFile(file, '');
    const env = { ...plain(at), PAGER: 'less', LESSHISTFILE: file };
    const terminal = startOnTerminal(['events', 'search', '--all'], { env, columns: 100, rows: 24 });
    await sees(terminal, (lines) => {
      expect(lines[0]).toMatch(/^createdOn/);
      expect(lines.slice(1, 23).filter((line) => !EVENT.test(line))).toEqual([]);
    });
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });
});
