import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startHandler } from './support/handler.ts';
import { type Running, startListeningProcess, startNotingSignals, startProcess } from './support/process.ts';
import { startSearching } from './support/searching.ts';
import { startRefreshing } from './support/signing-in.ts';

/** Signals again and again, as an impatient user does, until the program has ended. */
async function insist(program: Running, signal: NodeJS.Signals) {
  const timer = setInterval(() => program.kill(signal), 50);
  try {
    return await program.finished;
  } finally {
    clearInterval(timer);
  }
}

/** Returns the number of bytes read, at most 1: 0 also if there is nothing to read yet. */
function readSome(descriptor: number): number {
  try {
    return readSync(descriptor, Buffer.alloc(1));
  } catch {
    return 0;
  }
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a jq program that has no end', async (signal, code) => {
  await using at = await startSearching();
  const program = startProcess(
    ['events', 'search', '--from', '-', '--ndjson', '--jq', '1, (if .last then range(1e12) else empty end)'],
    { env: at.env, stdin: `${'{"a":1}\n'.repeat(50_000)}{"last":true}\n` },
  );
  await program.printed('stdout', /1\n/);
  program.kill(signal);
  expect((await program.finished).code).toBe(code);
});

describe('a second signal', () => {
  test.each([
    ['SIGINT', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGTERM'],
  ] as const)('after %s, %s ends the waiting program at once', async (first, second) => {
    await using handler = await startHandler();
    await using listening = await startListeningProcess(
      '--forward-to',
      handler.url,
      '--forward-timeout',
      '3600',
    );
    handler.answer = () => new Promise(() => undefined);
    const sent = listening.send('{"eventId":"a"}').then(
      ({ status }) => status,
      () => 'no answer',
    );
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill(first);
    await listening.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
    // Had it waited for the handler, it would have ended with 130 or 143.
    expect((await insist(listening.program, second)).code).toBe(second);
    expect(await sent).toBe('no answer');
  });

  test('waits until a new refresh token is stored', async () => {
    await using at = await startRefreshing();
    let answer = () => {};
    const arrived = new Promise<void>((resolve) => {
      const held = new Promise<void>((go) => {
        answer = go;
      });
      at.sandbox.control.fault('token', {
        kind: 'run',
        run: async () => {
          resolve();
          await held;
        },
      });
    });
    const program = startNotingSignals(['token'], { env: at.env });
    await arrived;
    const ended = insist(program, 'SIGINT');
    // Signals within 250 ms of the first count as the same one, which `npm exec` forwarded.
    await program.handled((signals) => signals.some(({ before }) => before - (signals[0]?.after ?? 0) > 250));
    answer();
    expect((await ended).code).toBe('SIGINT');
    expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
    expect(at.refreshes()).toEqual(['ok']);
  });

  test('ends a command whose --output-file is a pipe that nobody empties', async () => {
    await using at = await startSearching();
    const pipe = path.join(at.env['HOME'] as string, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const program = startProcess(['events', 'search', '--ndjson', '--output-file', pipe], {
        env: at.env,
      });
      await expect.poll(() => readSome(reader), { interval: 20 }).toBe(1);
      expect((await insist(program, 'SIGINT')).code).toBe('SIGINT');
    } finally {
      closeSync(reader);
    }
  });

  test('that `npm exec` forwards counts as the first', async () => {
    await using handler = await startHandler();
    await using listening = await startListeningProcess('--forward-to', handler.url);
    const answer = handler.hold();
    const sent = listening.send('{"eventId":"a"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill('SIGINT');
    listening.program.kill('SIGINT');
    await listening.program.printed('stderr', /waiting up to 10 s/);
    answer(200);
    expect((await sent).status).toBe(200);
    expect((await listening.program.finished).code).toBe(130);
  });
});
