import { existsSync, readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startProgram } from '../../src/child-programs.ts';
import type { StartProgram } from '../../src/context.ts';
import { clock } from '../support/clock.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { startHooktrail } from '../support/program.ts';
import { type Searching, startSearching } from '../support/searching.ts';

/**
 * A watch with a place of its own that runs a script of Node for each event, which finds its notes in
 * `NOTES`.
 */
async function startWatching() {
  const at = await startSearching({ events: 0 });
  const home = at.env['HOME'] as string;
  const file = (name: string) => path.join(home, name);
  const env = { ...at.env, NOTES: file('notes'), AGAIN: file('again') };
  const notes = () => (existsSync(env.NOTES) ? readFileSync(env.NOTES, 'utf8') : '').split('\n').slice(0, -1);
  const command = async (script: string) => {
    await writeFile(file('handle'), `#!${process.execPath}\n${PRELUDE}\n${script}\n`);
    await chmod(file('handle'), 0o755);
    return file('handle');
  };
  const args = (...flags: string[]) => [
    ...['events', 'watch', '--interval', '1s', '--since', '1h', '--state', file('place.json')],
    ...flags,
  ];
  const noted = (count: number) => expect.poll(() => notes().length).toBe(count);
  return { at, env, notes, noted, command, args };
}

const PRELUDE = `const fs = require('node:fs');
const note = (text) => fs.appendFileSync(process.env.NOTES, text + '\\n');
const item = () => fs.readFileSync(0, 'utf8');
const id = process.env.HOOKTRAIL_EVENT_ID;`;

const added = ({ control }: Searching, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const createdOn = `2026-11-20T11:5${index}:00Z`;
    return control.addEvent({ createdOn, publishStatus: 'FAILED' }).eventId;
  });

describe('events watch -- COMMAND', () => {
  test('runs it for one event after the other, without a shell, and prints nothing itself', async () => {
    const { at, env, args, command, notes } = await startWatching();
    await using _ = at;
    const ids = added(at, 3);
    const handle = await command(
      `note('begin ' + id); setTimeout(() => { note('end ' + id + ' ' + process.argv.slice(2).join('|') + ' ' + item().includes(id)); console.log('out'); console.error('err'); }, 100);`,
    );
    const line = args('--count', '3', '--', handle, '$HOME', '*', 'a b', '--json', '--');
    const { code, stdout, stderr } = await spawnHooktrail(line, { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'out\nout\nout\n' });
    expect(stderr).toMatch(/^watching events created after [^\n]*\nerr\nerr\nerr\n$/);
    expect(notes()).toEqual(ids.flatMap((id) => [`begin ${id}`, `end ${id} $HOME|*|a b|--json|-- true`]));
  });

  test('hands over the exact bytes of each item', async () => {
    const { at, env, args } = await startWatching();
    await using _ = at;
    const json =
      '{"eventId":"1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b","n":9007199254740993,"m":1.10,"e":1e400,"n":"\\u0041 \u00e9","createdOn":"2026-11-20T11:59:00Z"}';
    at.control.addEvent({ json, createdOn: '2026-11-20T11:59:00Z' });
    const { stdout } = await spawnHooktrail(args('--count', '1', '--', 'cat'), { env });
    expect(stdout).toBe(`${json}\n`);
  });

  test('moves the place only when it has ended with 0, and after kill -9 runs it again for the event at hand', async () => {
    const { at, env, args, command, notes, noted } = await startWatching();
    await using _ = at;
    const [first, second, third] = added(at, 3);
    const handle = await command(
      `note(id); if (id === '${second}' && !fs.existsSync(process.env.AGAIN)) {
        note(process.pid);
        setInterval(() => {}, 1000);
      }`,
    );
    const program = startProcess(args('--', handle), { env });
    await noted(3);
    program.kill('SIGKILL');
    // Its old run goes on: nobody is left to end it.
    process.kill(Number(notes()[2]), 'SIGKILL');
    await program.finished;
    await writeFile(env.AGAIN, '');
    const last = await spawnHooktrail(args('--count', '2', '--', handle), { env });
    expect(last.code).toBe(0);
    expect(notes().toSpliced(2, 1)).toEqual([first, second, second, third]);
  });

  test('an event that is given up is named, the watch goes on and ends with 1, and no later run tries it again', async () => {
    const { at, env, args, command, notes } = await startWatching();
    await using _ = at;
    const [first, second] = added(at, 2) as [string, string];
    const handle = await command(`note(id); process.exitCode = id === '${first}' ? 7 : 0;`);
    const run = () => spawnHooktrail(args('--until', 'now', '--retry-for', '1s', '--', handle), { env });
    const { code, stdout, stderr } = await run();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').slice(1)).toEqual([
      `warning: the command ended with 7 for event ${first}: run again in 1s (given up in 1s)`,
      `warning: the command ended with 7 for event ${first}: given up, the watch goes on`,
      'error: the command did not handle 1 event',
      `  event ${first}`,
      'next: `hooktrail events get ID --ndjson` prints an event, to hand it over again',
      '',
    ]);
    expect((await run()).code).toBe(0);
    expect(notes()).toEqual([first, first, second]);
  });

  test('SIGTERM lets the command come to its end, whose event is then done', async () => {
    const { at, env, args, command, notes, noted } = await startWatching();
    await using _ = at;
    const [first, second] = added(at, 2);
    const handle = await command(
      `note('begin ' + id);
      const isAllowed = () => fs.existsSync(process.env.AGAIN);
      const look = () => (isAllowed() ? note('end ' + id) : setTimeout(look, 20));
      look();`,
    );
    const program = startProcess(args('--', handle), { env });
    await noted(1);
    program.kill('SIGTERM');
    await program.printed('stderr', /the command has/);
    await writeFile(env.AGAIN, '');
    const { code, stderr } = await program.finished;
    expect(code).toBe(143);
    expect(stderr).toContain(
      `the command has 10s to end with event ${first}; a second signal ends it at once\n`,
    );
    expect(stderr).toContain('to resume: run the same command again\n');
    expect(notes()).toEqual([`begin ${first}`, `end ${first}`]);
    await spawnHooktrail(args('--count', '1', '--', handle), { env });
    expect(notes().slice(2)).toEqual([`begin ${second}`, `end ${second}`]);
  });

  test('ends a command that goes on after its 10 seconds, with all that it started, and its event comes again', async () => {
    const { at, env, args, notes, noted } = await startWatching();
    await using _ = at;
    const [first] = added(at, 1);
    const line = `trap '' TERM; echo $HOOKTRAIL_EVENT_ID $$ >> "$NOTES"; sleep 600; sleep 600`;
    // In this process, so that its seconds pass at once.
    const context = {
      startProgram: async (...[words, given, input]: Parameters<StartProgram>) =>
        startProgram(words, given, input, process, process.kill),
    };
    const program = startHooktrail(args('--', 'sh', '-c', line), { env, context });
    await noted(1);
    program.kill('SIGTERM');
    expect(await clock.asleep(10_000)).toBe(10_000);
    const [id, group] = (notes()[0] as string).split(' ');
    expect(id).toBe(first);
    expect(isGone(Number(group))).toBe(false);
    clock.advance(10_000);
    expect((await program.finished).code).toBe(143);
    await expect.poll(() => isGone(Number(group))).toBe(true);
    const again = await spawnHooktrail(args('--count', '1', '--', 'printenv', 'HOOKTRAIL_EVENT_ID'), { env });
    expect(again.stdout).toBe(`${first}\n`);
  });

  test('a second signal ends the command and the watch at once', async () => {
    const { at, env, args, notes, noted } = await startWatching();
    await using _ = at;
    added(at, 1);
    const line = `trap '' TERM INT; echo $$ >> "$NOTES"; sleep 600`;
    const program = startProcess(args('--', 'sh', '-c', line), { env });
    await noted(1);
    program.kill('SIGINT');
    await program.printed('stderr', /a second signal/);
    await new Promise((resolve) => setTimeout(resolve, 400));
    program.kill('SIGINT');
    expect((await program.finished).code).toBe('SIGINT');
    const group = Number(notes()[0]);
    await expect.poll(() => isGone(group)).toBe(true);
  });
});

function isGone(group: number): boolean {
  try {
    process.kill(-group, 0);
    return false;
  } catch {
    return true;
  }
}
