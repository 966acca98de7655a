import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { hasTerminal, startOnTerminal, startShell } from '../support/machine/terminal.ts';
import { startSearching } from '../support/searching.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
const browse = ({ env }: Started, ...args: string[]) =>
  startOnTerminal(['events', 'browse', ...args], { env: { ...env, NO_COLOR: '1' }, columns: 160 });
const ENTERED = '\u001b[?1049h\u001b[?25l';
const LEFT = /\u001b\[\?25h\u001b\[\?1049l/;

describe.skipIf(!hasTerminal)('events browse', () => {
  test('shows the list, opens an event, copies its id, and leaves the terminal as it was', async () => {
    await using searching = await startSearching({ events: 300 });
    const createdOn = new Date(clock.now() + 1000).toISOString();
    const { eventId } = searching.control.addEvent({ createdOn, publishStatus: 'FAILED' });
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

  test('f requests failures, and all events again', async () => {
    await using searching = await startSearching({ events: 2000 });
    const terminal = browse(searching);
    await terminal.shows(/2,000 events[\s\S]*f failed only/);
    terminal.type('f');
    await terminal.shows(/\d+ failed events[\s\S]*f all events/);
    expect(searching.queries().at(-1)).toContain('eq(publishStatus,FAILED)');
    terminal.type('f');
    await terminal.shows(/2,000 events[\s\S]*f failed only/);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
  });

  test('o creates a report of the events that are left, until one leaves', async () => {
    await using searching = await startSearching({ events: 50 });
    const { control } = searching.sandbox;
    const [kept, other] = [1, 2].map(() => control.addEvent({ publishStatus: 'FAILED' }).eventId);
    const env = { ...searching.env, HOOKTRAIL_BROWSER: '/bin/true', NO_COLOR: '1' };
    const terminal = startOnTerminal(['events', 'browse'], { env, columns: 160 });
    await terminal.shows(/52 events/);
    terminal.type(`w${kept}\r`);
    await terminal.shows(/52 events, 1 with "/);
    terminal.type('o');
    const [, file = ''] = await terminal.shows(/the report is (\S+\.html) until you leave/);
    const report = await readFile(file, 'utf8');
    expect([kept, other].map((id) => report.includes(id as string))).toEqual([true, false]);
    terminal.type('q');
    expect(await terminal.finished).toBe(0);
    await expect(stat(path.dirname(file))).rejects.toMatchObject({ code: 'ENOENT' });
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

  test('an error after the list is shown below it, and printed with the next step when the user leaves', async () => {
    await using searching = await startSearching({ events: 5 });
    const terminal = browse(searching);
    await terminal.shows(/enter open/);
    searching.sandbox.control.fault('events', { kind: 'status', status: 403 });
    terminal.type('r');
    await terminal.shows(/could not read more: the search failed/);
    terminal.type('q');
    expect(await terminal.finished).toBe(1);
    expect(terminal.screen).toMatch(
      new RegExp(`${LEFT.source}error: the search failed: the service answered 403 Forbidden`),
    );
    expect(terminal.screen).not.toContain('no events match');
  });

  test('an error before the list is printed on the normal screen', async () => {
    await using searching = await startSearching({ events: 5 });
    searching.sandbox.control.fault('events', { kind: 'status', status: 403 });
    const terminal = browse(searching);
    expect(await terminal.finished).toBe(1);
    expect(terminal.screen).toContain('error: the search failed: the service answered 403 Forbidden');
    expect(terminal.screen).not.toContain(ENTERED);
  });
});
