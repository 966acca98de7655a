import path from 'node:path';
import { expect, test } from 'vitest';
import type { Random } from '../../src/sandbox/random.ts';
import { clock, NOON } from '../support/clock.ts';
import type { Fault } from '../support/sandbox.ts';
import { type Searching, startSearching, valuesIn } from '../support/searching.ts';
import { faultRounds, noteFaults, randomOf, sampleSize } from '../support/seed.ts';
import { type MadeEvent, type PlainChange, plainChanges } from './plain-alarm.ts';

/** Subscriptions of the sandbox that are on, in the order of its list, in which changes are reported. */
const ROWS = [
  '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
  '74442f2c-151a-42dd-a769-6991a708dad3',
  '9f9073e8-1531-474d-bed1-b2f34ed6f2ce',
];
/** Its change is the last one, after which there is nothing to wait for. */
const LAST_ROW = 2;
const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

/** A watch over a service with a clock of its own, whatever the clock of this machine does. */
class Alarm {
  readonly events: MadeEvent[] = [];
  readonly at: Searching;
  readonly #flags: readonly string[];
  #program: ReturnType<Searching['start']>;
  #stdout = '';

  constructor(at: Searching, flags: readonly string[]) {
    this.at = at;
    const state = path.join(at.env['HOME'] as string, 'health.json');
    this.#flags = ['--interval', '1s', '--overlap', '5s', '--ndjson', '--state', state, ...flags];
    this.#program = this.#start();
  }

  #start() {
    return this.at.start(['events', 'health', '--watch', ...this.#flags]);
  }

  /** The service's time. */
  get now(): number {
    return Math.floor(clock.now() + this.at.control.behaviour.clockOffsetMs);
  }

  async begun(): Promise<void> {
    await this.#program.printed('stderr', /watching health/);
    await clock.slept(2);
  }

  add(row: number, hasFailed: boolean): void {
    clock.advance(SECOND_MS);
    const { now } = this;
    this.events.push({ row, at: now, hasFailed });
    const publishStatus = hasFailed ? 'FAILED' : 'SUCCESS';
    const createdOn = new Date(now).toISOString();
    this.at.control.addEvent({ subscriptionId: ROWS[row] as string, publishStatus, createdOn });
  }

  /** Moves the clock of this machine, and not that of the service. */
  jump(milliseconds: number): void {
    this.at.control.behaviour.clockOffsetMs -= milliseconds;
    clock.advance(milliseconds);
  }

  async restart(): Promise<void> {
    await this.end();
    // A watch that cannot begin ends with the error.
    this.at.control.clearFaults();
    this.#program = this.#start();
    await this.begun();
  }

  async printed(pattern: RegExp): Promise<void> {
    await this.#program.printed('stdout', pattern);
  }

  async end(): Promise<void> {
    this.#program.kill('SIGTERM');
    const { code, stdout, stderr } = await this.#program.finished;
    expect([code, stderr]).toEqual([143, expect.not.stringContaining('unexpected')]);
    this.#stdout += stdout;
  }

  /** What was printed about a row. */
  changesOf(row: number): PlainChange[] {
    const time = (text: string | null) => (text === null ? null : Date.parse(text));
    return valuesIn(this.#stdout)
      .filter(({ value }) => value === ROWS[row])
      .map(({ change, since, until }) => ({
        ...{ row, change },
        ...{ since: time(since) ?? 0, until: time(until) },
      }));
  }
}

const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 503 },
  { kind: 'status', status: 401 },
  { kind: 'reset' },
  { kind: 'answer-lost' },
  { kind: 'reset-mid-body' },
];

/** One thing that happens. */
async function happen(alarm: Alarm, random: Random): Promise<void> {
  const { control } = alarm.at;
  switch (random.below(8)) {
    case 0:
      control.fault('events', ...Array(1 + random.below(12)).fill(random.pick([...FAULTS])));
      return;
    case 1:
      control.fault('subscriptions', ...Array(1 + random.below(6)).fill(random.pick([...FAULTS])));
      return;
    case 2:
      return alarm.jump(random.pick([-2 * HOUR_MS, -1_500, 700, 3 * HOUR_MS]));
    case 3:
      return await alarm.restart();
    case 4:
      return await clock.slept(1 + random.below(4));
    default: {
      const row = random.below(LAST_ROW);
      const share = random.pick([0.2, 0.5, 0.9]);
      for (let count = 1 + random.below(6); count > 0; count--) alarm.add(row, random.float() < share);
    }
  }
}

test('drawn histories: each change is printed once, whatever happens to service, clock and watch', {
  timeout: 1_800_000,
}, async () => {
  const random = randomOf('histories of an alarm');
  const rounds = faultRounds(sampleSize(2, 3), 150);
  for (let round = 0; round < rounds; round++) {
    clock.set(NOON);
    await using at = await startSearching({ events: 0, tokenLifetimeSeconds: 1e6 });
    const rules = { failures: 1 + random.below(3), length: random.pick([0, 20 * SECOND_MS]) };
    const flags = ['--after-failures', `${rules.failures}`, '--after', `${rules.length / SECOND_MS}s`];
    const alarm = new Alarm(at, flags);
    await alarm.begun();
    for (let steps = 12; steps > 0; steps--) await happen(alarm, random);
    // The clock is right again in the end.
    alarm.jump(at.control.behaviour.clockOffsetMs);
    clock.advance(rules.length);
    for (let count = 0; count < 3; count++) alarm.add(LAST_ROW, true);
    clock.advance(rules.length + 2 * SECOND_MS);
    await alarm.printed(new RegExp(ROWS[LAST_ROW] as string));
    const end = alarm.now;
    await alarm.end();
    for (const row of ROWS.keys())
      expect([round, alarm.changesOf(row)]).toEqual([round, plainChanges(alarm.events, row, rules, end)]);
  }
  noteFaults('histories of an alarm', rounds, rounds);
});
