import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context, Environment } from '../../src/context.ts';
import { InterruptedError } from '../../src/errors.ts';
import { requireProgram } from '../../src/watch/command-runner.ts';
import { EventCommand } from '../../src/watch/event-command.ts';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter, pageOf } from '../support/outputs.ts';

const home = forEachTest(createHome);

const FLAT = {
  eventId: '1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b',
  eventType: 'order.created',
  subscriptionId: '50b2863f-0000-4000-8000-000000000000',
  createdOn: '2026-11-20T11:59:58.85Z',
  publishStatus: 'FAILED',
};
const { eventId, eventType, ...record } = FLAT;
const NESTED = { ...record, eventData: { eventId, eventType, body: { amount: 1 } } };

interface Ran {
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly input: string;
}

/** A command whose runs end with these exit codes in turn, and then with the last of them. */
function commandThatEnds(
  codes: readonly (number | Error)[],
  { retryForMs = Number.POSITIVE_INFINITY, environment = {} as Environment } = {},
) {
  const ran: Ran[] = [];
  const startedAt: number[] = [];
  const reporter = fakeReporter();
  const startProgram: Context['startProgram'] = async (words, given, input) => {
    const end = codes[Math.min(ran.length, codes.length - 1)] as number | Error;
    ran.push({ words, environment: given, input: input.toString() });
    startedAt.push(clock.now());
    if (end instanceof Error) throw end;
    return { ended: Promise.resolve(end), kill: () => undefined };
  };
  const abort = new AbortController();
  const context = { environment, clock, signal: abort.signal, startProgram };
  const command = new EventCommand({ words: ['notify', '--now'], retryForMs }, context, reporter);
  const handle = (item: object | string, signal: AbortSignal = abort.signal) =>
    command.handle(pageOf([typeof item === 'string' ? item : JSON.stringify(item)]), signal);
  return { command, handle, ran, startedAt, said: reporter.said, abort };
}

const variablesIn = (environment: Environment | undefined) =>
  Object.fromEntries(Object.entries(environment ?? {}).filter(([, value]) => value !== undefined));

describe('a command for each event', () => {
  test.each([
    ['at the top', FLAT],
    ['inside a member', NESTED],
  ])('gets the item as a line, and its known fields %s as variables', async (_, item) => {
    const { handle, ran } = commandThatEnds([0]);
    const text = JSON.stringify({ n: 0, ...item }).replace('"n":0', '"n":9007199254740993.10,"n":1e400');
    await handle(text);
    expect(ran.map(({ words, input }) => [words, input])).toEqual([[['notify', '--now'], `${text}\n`]]);
    expect(variablesIn(ran[0]?.environment)).toEqual({
      HOOKTRAIL_EVENT_ID: FLAT.eventId,
      HOOKTRAIL_EVENT_TYPE: FLAT.eventType,
      HOOKTRAIL_EVENT_SUBSCRIPTION_ID: FLAT.subscriptionId,
      HOOKTRAIL_EVENT_CREATED_ON: FLAT.createdOn,
      HOOKTRAIL_EVENT_PUBLISH_STATUS: FLAT.publishStatus,
    });
  });

  test('gets our environment, but neither our secrets nor the variables of an outer watch', async () => {
    const environment = {
      HOOKTRAIL_PROFILE: 'night',
      HOOKTRAIL_PASSPHRASE: 'p',
      HOOKTRAIL_CLIENT_SECRET: 's',
      HOOKTRAIL_API_TOKEN: 't',
      HOOKTRAIL_ACCESS_TOKEN: 'a',
      HOOKTRAIL_EVENT_TYPE: 'outer',
    };
    const { handle, ran } = commandThatEnds([0], { environment });
    await handle({ eventId: 'e' });
    expect(variablesIn(ran[0]?.environment)).toEqual({ HOOKTRAIL_PROFILE: 'night', HOOKTRAIL_EVENT_ID: 'e' });
  });

  test.each([
    ['a number', 7],
    ['null', null],
    ['an object', { a: 1 }],
    ['longer than a system takes', 'x'.repeat(200_000)],
    ['with a NUL', 'a\0b'],
  ])('has no variable for a field that is %s', async (_, value) => {
    const { handle, ran } = commandThatEnds([0]);
    await handle({ eventId: 'e', eventType: value });
    expect(variablesIn(ran[0]?.environment)).toEqual({ HOOKTRAIL_EVENT_ID: 'e' });
    expect(JSON.parse(ran[0]?.input ?? '')).toEqual({ eventId: 'e', eventType: value });
  });

  test('is run again after growing pauses until it ends with 0', async () => {
    clock.skips = 120_000;
    const failures = Array(8).fill(3);
    const { handle, startedAt, said, command } = commandThatEnds([...failures, 0]);
    await handle({ eventId: 'e' });
    const pauses = startedAt
      .slice(1)
      .map((at, index) => Math.round((at - (startedAt[index] as number)) / 1000));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(said).toEqual(
      ['1s', '2s', '4s', '8s', '16s', '32s', '1m', '1m'].map(
        (pause) =>
          `warning: the command ended with 3 for event e: run again in ${pause} (for ever, as no --retry-for is given)`,
      ),
    );
    command.requireAllHandled();
  });

  test('is run for the last time at the end of --retry-for, and then the event is given up', async () => {
    clock.skips = 120_000;
    const { handle, startedAt, said, command } = commandThatEnds([1], { retryForMs: 5000 });
    await handle({ eventId: 'first' });
    expect(startedAt.map((at) => Math.round((at - (startedAt[0] as number)) / 1000))).toEqual([0, 1, 3, 5]);
    expect(said).toEqual([
      'warning: the command ended with 1 for event first: run again in 1s (given up in 5s)',
      'warning: the command ended with 1 for event first: run again in 2s (given up in 4s)',
      'warning: the command ended with 1 for event first: run again in 2s (given up in 2s)',
      'warning: the command ended with 1 for event first: given up, the watch goes on',
    ]);
    await handle({ noId: true });
    expect(() => command.requireAllHandled()).toThrow(
      expect.objectContaining({
        exitCode: 1,
        message: 'the command did not handle 2 events',
        details: ['event first', 'an event without an id'],
      }),
    );
  });

  test('is not run again with a time of 0', async () => {
    const { handle, ran } = commandThatEnds([1], { retryForMs: 0 });
    await handle({ eventId: 'e' });
    expect(ran).toHaveLength(1);
  });

  test('is started again where it cannot be started: a new version may be on its way there', async () => {
    const gone = Object.assign(new Error('spawn notify ENOENT'), { code: 'ENOENT' });
    const { handle, said } = commandThatEnds([gone, 0]);
    await handle({ eventId: 'e' });
    expect(said).toEqual([
      'warning: the command could not be started (there is no such program) for event e: run again in 1s (for ever, as no --retry-for is given)',
    ]);
  });

  test('is not run again once the watch is told to end, nor for the next event', async () => {
    const { handle, ran, abort } = commandThatEnds([1]);
    const interrupted = new InterruptedError('SIGTERM');
    const first = handle({ eventId: 'e' });
    abort.abort(interrupted);
    await expect(first).rejects.toBe(interrupted);
    await expect(handle({ eventId: 'f' })).rejects.toBe(interrupted);
    expect(ran).toHaveLength(1);
  });
});

describe('a command that still runs when the watch is told to end', () => {
  /**
   * A program that ends when the test says so, or with 143 or 137 when it is killed and obeys that signal.
   */
  function startRunning(obeys: NodeJS.Signals) {
    const killed: NodeJS.Signals[] = [];
    let end = (_code: number) => {};
    const ended = new Promise<number>((resolve) => {
      end = resolve;
    });
    const kill = (signal: NodeJS.Signals) => {
      killed.push(signal);
      if (signal === obeys) end(signal === 'SIGTERM' ? 143 : 137);
    };
    const abort = new AbortController();
    const reporter = fakeReporter();
    const works: (() => void)[] = [];
    const context = {
      environment: {},
      clock,
      signal: abort.signal,
      startProgram: async () => ({ ended, kill }),
      atExit: (work: () => void) => {
        works.push(work);
        return () => void works.splice(works.indexOf(work), 1);
      },
    };
    const options = { words: ['x'], retryForMs: Number.POSITIVE_INFINITY };
    const command = new EventCommand(options, context, reporter);
    const handled = command.handle(pageOf(['{"eventId":"e"}']), abort.signal);
    return {
      handled,
      killed,
      end,
      works,
      said: reporter.said,
      stop: () => abort.abort(new InterruptedError('SIGTERM')),
    };
  }

  test('has 10 seconds, and its event is handled if it ends with 0 in them', async () => {
    const { handled, killed, end, said, stop } = startRunning('SIGTERM');
    await new Promise(setImmediate);
    stop();
    expect(await clock.asleep(5001)).toBe(10_000);
    clock.advance(9_999);
    end(0);
    await handled;
    expect(killed).toEqual([]);
    expect(said).toEqual([
      'notice: the command has 10s to end with event e; a second signal ends it at once',
    ]);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)('is then ended by %s if need be', async (obeys) => {
    const { handled, killed, stop } = startRunning(obeys);
    await new Promise(setImmediate);
    stop();
    await clock.asleep(5001);
    clock.advance(10_000);
    await expect(handled).rejects.toThrow(InterruptedError);
    expect(killed).toEqual(obeys === 'SIGTERM' ? ['SIGTERM'] : ['SIGTERM', 'SIGKILL']);
  });

  test('is ended when a second signal ends this process', async () => {
    const { handled, killed, works, end } = startRunning('SIGTERM');
    await new Promise(setImmediate);
    expect(works).toHaveLength(1);
    works[0]?.();
    expect(killed).toEqual(['SIGKILL']);
    end(0);
    await handled;
    expect(works).toEqual([]);
  });
});

describe('the program of a command', () => {
  const look = (name: string, environment: Environment = { PATH: `/nowhere:${home.folder}` }) =>
    requireProgram(name, { environment, machine: thisMachine() });

  test('is found in PATH and by its path', async () => {
    await writeFile(path.join(home.folder, 'notify'), '#!/bin/sh\n', { mode: 0o755 });
    await look('notify');
    await look(path.join(home.folder, 'notify'), {});
    await look('sh', {});
  });

  test.each([
    ['nosuch', 'there is no such program'],
    ['./nosuch', 'there is no such program'],
    ['notes.txt', 'it is not a program, or must not be run'],
    ['folder', 'it is not a program, or must not be run'],
  ])('%s is refused before any event comes', async (name, why) => {
    await writeFile(path.join(home.folder, 'notes.txt'), '', { mode: 0o644 });
    await mkdir(path.join(home.folder, 'folder'));
    await expect(look(name)).rejects.toThrow(`cannot run '${name}': ${why}`);
  });
});
