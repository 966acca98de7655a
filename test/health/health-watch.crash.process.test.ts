import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { spawnHooktrail } from '../support/process.ts';
import { type Searching, startSearching } from '../support/searching.ts';
import { faultRounds, noteFaults, randomOf } from '../support/seed.ts';
import { type MadeEvent, plainChanges } from './plain-alarm.ts';

const ROWS = ['22284310-c2cd-4a3e-a9e8-1d7b8995da7f', '74442f2c-151a-42dd-a769-6991a708dad3'];
const FAILURES = 2;

/** A watch that runs until now, and is killed before an operation of its own. */
class KilledAlarm {
  readonly events: MadeEvent[] = [];
  readonly #at: Searching;
  readonly #notes: string;
  readonly #operations: string;
  readonly #command: string;

  constructor(at: Searching) {
    const home = at.env['HOME'] as string;
    this.#at = at;
    this.#notes = path.join(home, 'notes');
    this.#operations = path.join(home, 'operations');
    this.#command = path.join(home, 'alarm');
  }

  /** The changes that the command was run for, by row. */
  notedOf(row: number): string[] {
    const text = existsSync(this.#notes) ? readFileSync(this.#notes, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line.endsWith(` ${ROWS[row]}`));
    return lines.map((line) => line.split(' ')[0] as string);
  }

  async run(killAt?: number) {
    const { env } = this.#at;
    const NODE_OPTIONS = `--require="${path.join(import.meta.dirname, '../support/killed-at-operation.cjs')}"`;
    const home = env['HOME'] as string;
    await writeFile(
      this.#command,
      `#!/bin/sh\necho "$HOOKTRAIL_CHANGE $HOOKTRAIL_SUBSCRIPTION_ID" >> '${this.#notes}'\n`,
      { mode: 0o755 },
    );
    const flags = [
      '--until',
      'now',
      '--after-failures',
      `${FAILURES}`,
      '--state',
      path.join(home, 'state.json'),
    ];
    return await spawnHooktrail(['events', 'health', '--watch', ...flags, '--', this.#command], {
      env: {
        ...env,
        NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} ${NODE_OPTIONS}`,
        HOOKTRAIL_TEST_OPERATIONS: this.#operations,
        ...(killAt === undefined ? {} : { HOOKTRAIL_TEST_KILL_AT: `${killAt}` }),
      },
    });
  }

  /** The operations of the last run that was not killed. */
  get operations(): number {
    return Number(readFileSync(this.#operations, 'utf8'));
  }

  add(row: number, hasFailed: boolean): void {
    clock.advance(1000);
    const at = Math.floor(clock.now());
    this.events.push({ row, at, hasFailed });
    const publishStatus = hasFailed ? 'FAILED' : 'SUCCESS';
    this.#at.control.addEvent({
      subscriptionId: ROWS[row] as string,
      publishStatus,
      createdOn: new Date(at).toISOString(),
    });
  }
}

test('a watch that is killed before any of its operations loses no change, and repeats the last at most', {
  timeout: 1_800_000,
}, async () => {
  const random = randomOf('killed alarm');
  await using at = await startSearching({ events: 0, tokenLifetimeSeconds: 1e6 });
  const alarm = new KilledAlarm(at);
  const first = await alarm.run();
  expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(/^watching health/)]);
  const rounds = faultRounds(3, 120);
  let killed = 0;
  // The first round is not killed, and shows how many operations there are.
  let operations = 0;
  // The changes of each row that the command has been run for.
  const done = ROWS.map(() => 0);
  for (let round = 0; round <= rounds; round++) {
    for (const row of ROWS.keys())
      for (const hasFailed of [true, true, false, false]) alarm.add(row, hasFailed);
    clock.advance(2000);
    const before = ROWS.map((_, row) => alarm.notedOf(row).length);
    const isKilled = round > 0 && (await alarm.run(1 + random.below(operations))).code === 'SIGKILL';
    if (isKilled) killed++;
    const { code, stderr } = await alarm.run();
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^watching health/)]);
    if (round === 0) operations = alarm.operations;
    const noted = ROWS.map((_, row) => alarm.notedOf(row).slice(before[row]));
    const expected = ROWS.map((_, row) => {
      const changes = plainChanges(alarm.events, row, { failures: FAILURES, length: 0 }, clock.now());
      const fresh = changes.slice(done[row]).map(({ change }) => change);
      done[row] = changes.length;
      return fresh;
    });
    const count = (lists: readonly string[][]) => lists.flat().length;
    expect([round, noted.map(withoutRepeats)]).toEqual([round, expected]);
    expect(count(noted) - count(expected)).toBeLessThanOrEqual(isKilled ? 1 : 0);
  }
  expect(killed).toBeGreaterThan(0);
  noteFaults('kills of an alarm', killed, killed);
});

function withoutRepeats(changes: readonly string[]): string[] {
  return changes.filter((change, index) => change !== changes[index - 1]);
}
