import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventKey } from '../../../src/webhooks/event-key.ts';
import { openJournal } from '../../../src/webhooks/journal/open.ts';
import { createContext } from '../../support/context.ts';

let folder: string;
let file: string;
let log: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-journal-'));
  file = path.join(folder, 'events.journal');
  log = path.join(folder, 'log');
  await writeFile(log, '');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function worker(events: number, sessions: number, refusals = 0): ChildProcess {
  const script = path.resolve(import.meta.dirname, '../../support/journal-worker.ts');
  const args = [file, log, events, sessions, refusals].map(String);
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

interface Line {
  readonly what: 'took' | 'acked' | 'known';
  readonly event: number;
  readonly pid: number;
}

async function written(): Promise<Line[]> {
  const lines = (await readFile(log, 'utf8')).split('\n').filter(Boolean);
  return lines.map((line) => {
    const [what, event, pid] = line.split(' ');
    return { what: what as Line['what'], event: Number(event), pid: Number(pid) };
  });
}

test('processes that come and go hand each event over once', { timeout: 120_000 }, async () => {
  const events = 600;
  const workers = [worker(events, 6, 0.1), worker(events, 3, 0.1), worker(events, 1, 0.1)];
  expect(await Promise.all(workers.map(ended))).toEqual([0, 0, 0]);
  const lines = await written();
  const took = lines.filter(({ what }) => what === 'took').map(({ event }) => event);
  expect(took.toSorted((a, b) => a - b)).toEqual(Array.from({ length: events }, (_, index) => index + 1));
  expect(lines.filter(({ what }) => what !== 'took')).toHaveLength(3 * events);
});

test('processes that are killed lose nothing and double nothing that was acknowledged', {
  timeout: 180_000,
}, async () => {
  const events = 800;
  const killed = new Set<number>();
  const survivors = [worker(events, 4), worker(events, 2)];
  for (let round = 0; round < 4; round++) {
    const victim = worker(events, 5);
    const before = (await written()).length;
    // Not before it has done something, or the test would kill what has not begun.
    await expect
      .poll(async () => (await written()).some(({ pid }) => pid === victim.pid) || victim.exitCode !== null, {
        timeout: 60_000,
        interval: 5,
      })
      .toBe(true);
    await setTimeout(before % 50);
    victim.kill('SIGKILL');
    killed.add(victim.pid as number);
    await ended(victim);
  }
  expect(await Promise.all(survivors.map(ended))).toEqual([0, 0]);
  const lines = await written();
  const acked = new Set<number>();
  const takers = new Map<number, number[]>();
  for (const { what, event, pid } of lines) {
    if (what === 'took') {
      expect(acked, `event ${event} was handed over after it was acknowledged`).not.toContain(event);
      takers.set(event, [...(takers.get(event) ?? []), pid]);
    } else acked.add(event);
  }
  expect(acked.size).toBe(events);
  // Twice only where the first taker was killed before it could journal.
  for (const [event, pids] of takers) {
    const whole = pids.filter((pid) => !killed.has(pid));
    expect(whole.length, `event ${event} by ${pids}`).toBeLessThanOrEqual(1);
  }
  const { journal } = await openJournal(file, {}, createContext());
  expect(journal.size).toBe(events);
  for (let event = 1; event <= events; event++) expect(journal.has(eventKey(`event ${event}`))).toBe(true);
  await journal.close();
});
