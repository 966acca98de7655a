import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { spawnHooktrail } from '../../support/process.ts';
import { startSearching } from '../../support/searching.ts';
import { hasTerminal, startOnTerminal, startShell } from '../../support/terminal.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
const browse = ({ env }: Started, ...args: string[]) =>
  startOnTerminal(['events', 'browse', ...args], { env: { ...env, NO_COLOR: '1' }, columns: 100 });
const ENTERED = '\u001b[?1049h\u001b[?25l';
const LEFT = /\u001b\[\?25h\u001b\[\?1049l/;

describe.skipIf(!hasTerminal)('events browse', () => {
  test('shows the list, opens an event, copies its id, and leaves the terminal as it was', async () => {
    await using searching = await startSearching({ events: 300 });
    const { control } = searching.sandbox;
    const createdOn = new Date(clock.now() + 1000).toISOString();
    const { eventId } = control.addEvent({ createdOn, publishStatus: 'FAILED' });
    const terminal = browse(searching);
    await terminal.shows(new RegExp(`301 events[\\s\\S]*❯ [\\s\\S]*${eventId}`));
    expect(terminal.screen.startsWith(ENTERED)).toBe(true);
    terminal.type('\r');
    await terminal.shows(/event, lines 1 to [\s\S]*"publishStatus": "FAILED"/);
    terminal.type('y');
    await terminal.shows(new RegExp(`\u001b\\]52;c;${Buffer.from(eventId).toString('base64')}\u0007`));
    await terminal.shows(new RegExp(`sent ${eventId} to the terminal's clipboard`));
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).toMatch(new RegExp(`${LEFT.source}$`));
  });

  test('f requests failures, / filters, pages are read while scrolling', async () => {
    await using searching = await startSearching({ events: 2000 });
    const failed = Number(
      (await spawnHooktrail(['events', 'count', '--failed'], { env: searching.env })).stdout,
    ).toLocaleString('en-US');
    const terminal = browse(searching);
    await terminal.shows(/2,000 events/);
    expect(searching.queries().at(-1)).toMatch(/limit\((1|201|401),200\)$/);
    terminal.type('G');
    await terminal.shows(/enter open/);
    terminal.type('f');
    await terminal.shows(new RegExp(`${failed} failed events`));
    expect(searching.queries().some((query) => query.includes('eq(publishStatus,FAILED)'))).toBe(true);
    terminal.type('/');
    await terminal.shows(/type to filter/);
    terminal.type('document');
    await terminal.shows(/with \/document▏/);
    terminal.type('\r');
    await terminal.shows(/with \/document[^▏]/);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('f shows all events after a start with --failed', async () => {
    await using searching = await startSearching({ events: 300 });
    const terminal = browse(searching, '--failed');
    await terminal.shows(/\d+ failed events[\s\S]*f all events/);
    terminal.type('f');
    await terminal.shows(/300 events[\s\S]*f failed only/);
    expect(searching.queries().at(-1)).not.toContain('FAILED');
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('o creates a report of the same events', async () => {
    await using searching = await startSearching({ events: 50 });
    searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    const terminal = startOnTerminal(['events', 'browse', '--since', '2h'], {
      env: { ...searching.env, HOOKTRAIL_BROWSER: '/bin/true' },
      columns: 160,
    });
    await terminal.shows(/events/);
    terminal.type('o');
    const [, file] = (await terminal.shows(/the report is (\S+\.html) until you leave/)) as unknown as [
      string,
      string,
    ];
    expect(await readFile(file, 'utf8')).toMatch(/^<!doctype html>/i);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
    await expect(stat(path.dirname(file))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('z switches between the zone of --timezone, UTC and the local one', async () => {
    await using searching = await startSearching({ events: 0 });
    searching.sandbox.control.addEvent({ createdOn: '2026-11-20T11:00:00.1234567Z' });
    const terminal = browse(
      { ...searching, env: { ...searching.env, TZ: 'America/St_Johns' } },
      ...['--timezone', 'Asia/Kolkata'],
    );
    await terminal.shows(/16:30:00\+05:30|16:30:00.1234567\+05:30/);
    terminal.type('z');
    await terminal.shows(/11:00:00(\.1234567)?Z[\s\S]*times in UTC/);
    terminal.type('z');
    await terminal.shows(/07:30:00(\.1234567)?-03:30[\s\S]*times in America\/St_Johns/);
    terminal.type('?');
    await terminal.shows(/z +shows times in UTC, the local zone, that of --timezone/);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('w and g filter and group the events, and the report covers those', async () => {
    await using searching = await startSearching({ events: 50 });
    const { control } = searching.sandbox;
    const kept = control.addEvent({ publishStatus: 'FAILED' });
    const other = control.addEvent({ publishStatus: 'FAILED' });
    const terminal = startOnTerminal(['events', 'browse'], {
      env: { ...searching.env, HOOKTRAIL_BROWSER: '/bin/true', NO_COLOR: '1' },
      columns: 160,
    });
    await terminal.shows(/52 events/);
    terminal.type('g');
    terminal.type('publishStatus\r');
    await terminal.shows(/52 events, 2 groups by publishStatus[\s\S]*❯ SUCCESS[\s\S]*FAILED/);
    terminal.type('\r');
    await terminal.shows(/with publishStatus = "SUCCESS"/);
    terminal.type('\u001b');
    await terminal.shows(/52 events, 2 groups by publishStatus/);
    terminal.type('\u001b');
    await terminal.shows(/52 events +default: /);
    terminal.type(`w${kept.eventId}\r`);
    await terminal.shows(/52 events, 1 with "/);
    terminal.type('o');
    const [, file = ''] = await terminal.shows(/the report is (\S+\.html) until you leave/);
    const report = await readFile(file, 'utf8');
    expect([report.includes(kept.eventId), report.includes(other.eventId)]).toEqual([true, false]);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('Ctrl-Z suspends it, and fg draws it again', async () => {
    await using searching = await startSearching({ events: 20 });
    const shell = startShell({ env: { ...searching.env, NO_COLOR: '1' }, columns: 80 });
    await shell.shows(/bash-\S+[#$] /);
    shell.type(`${shell.command(['events', 'browse'])}\n`);
    await shell.shows(/20 events[\s\S]*enter open/);
    shell.type('\u001a');
    await shell.shows(/\u001b\[\?1049l[\s\S]*bash-\S+[#$] /);
    shell.type('echo in the shell\n');
    await shell.shows(/\rin the shell\r[\s\S]*bash-\S+[#$] /);
    shell.type('fg\n');
    await shell.shows(/\u001b\[\?1049h[\s\S]*20 events[\s\S]*enter open/);
    shell.type('q');
    await shell.shows(/\u001b\[\?1049l[\s\S]*bash-\S+[#$] /);
    shell.type('exit 0\n');
    expect(await shell.finished).toBe(0);
  });

  test('Ctrl-C ends it with 130, the terminal restored', async () => {
    await using searching = await startSearching({ events: 5 });
    const terminal = browse(searching);
    await terminal.shows(/enter open/);
    terminal.type('\u0003');
    expect(await terminal.finished).toBe(130);
    expect(terminal.screen).toMatch(LEFT);
  });

  test('an error before the list is printed on the normal screen', async () => {
    await using searching = await startSearching({ events: 5 });
    searching.sandbox.control.fault('events', { kind: 'status', status: 403 });
    const terminal = browse(searching);
    expect(await terminal.finished).toBe(1);
    expect(terminal.screen).toContain('error: the search failed: the service answered 403 Forbidden');
    expect(terminal.screen).not.toContain(ENTERED);
  });

  test('a later error is shown in the list', async () => {
    await using searching = await startSearching({ events: 3000 });
    const terminal = browse(searching);
    await terminal.shows(/enter open/);
    const refused = { kind: 'status', status: 403 } as const;
    searching.sandbox.control.fault('events', ...Array.from({ length: 9 }, () => refused));
    // Some pages have already been read ahead.
    for (let times = 0; times < 12; times++) {
      terminal.type('G');
      await delay(50);
    }
    await terminal.shows(/could not read on: the search failed: the service answered 403 Forbidden/);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });
});
