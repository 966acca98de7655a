import { existsSync, readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startProcess } from '../support/process.ts';
import { startSearching } from '../support/searching.ts';

const IDS = ['22284310-c2cd-4a3e-a9e8-1d7b8995da7f', '9f9073e8-1531-474d-bed1-b2f34ed6f2ce'] as const;

/** A watch over health with a state, whose command is a script of Node that keeps notes. */
async function startWatching(script: string) {
  const at = await startSearching({ events: 0 });
  const home = at.env['HOME'] as string;
  const notes = path.join(home, 'notes');
  const command = path.join(home, 'alarm');
  await writeFile(command, `#!${process.execPath}\n${PRELUDE}\n${script}\n`);
  await chmod(command, 0o755);
  const flags = ['--interval', '1s', '--state', path.join(home, 'health.json'), '--', command];
  const env = { ...at.env, NOTES: notes };
  const noted = () => (existsSync(notes) ? readFileSync(notes, 'utf8').split('\n').slice(0, -1) : []);
  return {
    at,
    noted,
    watch: () => startProcess(['events', 'health', '--watch', ...flags], { env }),
    hasNoted: (line: string) => expect.poll(noted).toContain(line),
    /** Adds events of a subscription, a second apart: `F` failed, `S` was delivered. */
    add: (marks: string, row: 0 | 1) => {
      for (const mark of marks) {
        clock.advance(1000);
        const createdOn = new Date(clock.now()).toISOString();
        const publishStatus = mark === 'F' ? 'FAILED' : 'SUCCESS';
        at.control.addEvent({ subscriptionId: IDS[row], publishStatus, createdOn });
      }
      clock.advance(1000);
    },
  };
}

const PRELUDE = `const fs = require('node:fs');
const note = (text) => fs.appendFileSync(process.env.NOTES, text + '\\n');
const { change, value } = JSON.parse(fs.readFileSync(0, 'utf8'));
const name = change + ' ' + ${JSON.stringify(IDS)}.indexOf(value);
const tries = fs.existsSync(process.env.NOTES) ? fs.readFileSync(process.env.NOTES, 'utf8').split(name).length : 1;`;

describe('events health --watch --state FILE -- COMMAND', () => {
  test('after kill -9 runs the command again only for the change at hand, and loses none', async () => {
    // The first run for the second subscription never ends.
    const { at, add, watch, noted, hasNoted } = await startWatching(
      `note(name);
      if (name === 'failing 1' && tries === 1) {
        note('process ' + process.pid);
        setInterval(() => {}, 1000);
      }`,
    );
    await using _ = at;
    add('SFFF', 0);
    const killed = watch();
    await hasNoted('failing 0');
    add('SFFF', 1);
    await expect.poll(() => noted().some((line) => line.startsWith('process '))).toBe(true);
    killed.kill('SIGKILL');
    // Its command goes on, with its streams: nobody is left to end it.
    const [, pid] = noted().at(-1)!.split(' ');
    process.kill(Number(pid), 'SIGKILL');
    await killed.finished;
    add('SS', 0);
    const last = watch();
    await hasNoted('recovered 0');
    add('SS', 1);
    await hasNoted('recovered 1');
    last.kill('SIGTERM');
    await last.finished;
    expect(noted().filter((line) => !line.startsWith('process '))).toEqual([
      ...['failing 0', 'failing 1', 'failing 1', 'recovered 0', 'recovered 1'],
    ]);
  });

  test('runs the command once for a change across restarts, and until it ends with 0', async () => {
    const { at, add, watch, noted } = await startWatching(
      `note(name); if (name === 'failing 1' && tries < 3) process.exit(tries);`,
    );
    await using _ = at;
    const reports = [
      ['SFFF', 0, 'failing 0'],
      ['SFFF', 1, 'failing 1'],
      ['SS', 0, 'recovered 0'],
    ] as const;
    const warnings: string[] = [];
    for (const [marks, row, change] of reports) {
      add(marks, row);
      const program = watch();
      await expect.poll(() => noted().filter((line) => line === change).length).toBe(row === 1 ? 3 : 1);
      await program.printed('stderr', /watching health/);
      program.kill('SIGTERM');
      warnings.push((await program.finished).stderr);
    }
    expect(noted()).toEqual(['failing 0', ...Array(3).fill('failing 1'), 'recovered 0']);
    expect(warnings[1]).toMatch(
      /ended with 1 for failing of [^\n]*run again in 1s[\s\S]*ended with 2 for failing of [^\n]*run again in 2s/,
    );
  });

  test('a command that hangs holds up the changes after it, and none is lost', async () => {
    const { at, add, watch, noted, hasNoted } = await startWatching(
      `note(name);
      const look = () => {
        if (!fs.existsSync(process.env.NOTES + '.end')) setTimeout(look, 20);
      };
      if (name === 'failing 0' && tries === 1) look();`,
    );
    await using _ = at;
    add('SFFF', 0);
    const program = watch();
    await hasNoted('failing 0');
    // An outage of another subscription begins and ends meanwhile.
    add('SFFFSS', 1);
    add('SS', 0);
    await writeFile(path.join(at.env['HOME'] as string, 'notes.end'), '');
    await hasNoted('recovered 0');
    program.kill('SIGTERM');
    expect((await program.finished).code).toBe(143);
    expect(noted()).toEqual(['failing 0', 'failing 1', 'recovered 1', 'recovered 0']);
  });

  test('a command that floods its output does not disturb the next change', async () => {
    const { at, add, watch, noted, hasNoted } = await startWatching(
      `const line = 'x'.repeat(1023) + '\\n';
      for (const descriptor of [1, 2]) fs.writeSync(descriptor, line.repeat(16));
      process.stdout.write(line.repeat(4000), () => note(name));`,
    );
    await using _ = at;
    add('SFFF', 0);
    const program = watch();
    await hasNoted('failing 0');
    add('SS', 0);
    await hasNoted('recovered 0');
    program.kill('SIGTERM');
    const { code, stdout, stderr } = await program.finished;
    expect([code, stdout.length]).toEqual([143, 2 * 4016 * 1024]);
    // The command notes its change before it ends, so the signal may still find it running.
    expect(stderr.replaceAll(/^x+\n/gm, '')).toMatch(/^watching health[^\n]*\n(the command has [^\n]*\n)?$/);
    expect(noted()).toEqual(['failing 0', 'recovered 0']);
  });
});
