import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { emptyMemory, type RunMemory } from '../../src/context.ts';
import { startProgress } from '../../src/terminal/progress.ts';
import { type PromptContext, promptSecret } from '../../src/terminal/prompt.ts';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { type FakeOutput, fakeOutput, fakeReporter } from '../support/outputs.ts';

/** What progress and questions on one terminal know of each other. */
const memories = new WeakMap<FakeOutput, RunMemory>();
function memoryOf(stderr: FakeOutput): RunMemory {
  const memory = memories.get(stderr) ?? emptyMemory();
  memories.set(stderr, memory);
  return memory;
}

function start(stderr: FakeOutput, environment = {}, quiet = false, stdout = fakeOutput(80)) {
  const machine = thisMachine();
  const context = { stdout, stderr, environment, machine, clock, memory: memoryOf(stderr) };
  return startProgress(context, { ...fakeReporter(), quiet }, 'searching');
}
/** Moves the clock until progress appears, and waits until it does. */
async function untilShownOn(stderr: FakeOutput, text = 'searching') {
  clock.advance(300);
  await vi.waitFor(() => expect(shown(stderr)).toContain(text), 10_000);
}
/** Waits until progress that started now would be visible. */
async function untilShown() {
  const stderr = fakeOutput(80);
  const progress = start(stderr);
  await untilShownOn(stderr);
  progress.stop();
}
const shown = (stderr: FakeOutput) => stripVTControlCharacters(stderr.text);

function askOn(stderr: FakeOutput) {
  const keys = new PassThrough();
  const stdin = { isTerminal: true, stream: () => keys } as unknown as PromptContext['stdin'];
  const { signal } = new AbortController();
  const context = { stdin, stderr, signal, environment: {}, memory: memoryOf(stderr) };
  return { keys, answer: promptSecret('Passphrase', context) };
}

describe('progress', () => {
  test('appears on a terminal after a while and leaves no trace', async () => {
    const stderr = fakeOutput(40);
    const progress = start(stderr);
    progress.update({ pages: 3, note: 'a \u001b[2J note that is longer than the line' });
    clock.advance(299);
    expect(stderr.text).toBe('');
    clock.advance(1);
    await untilShownOn(stderr, 'searching: 3 pages; a \\u001b[2J note…');
    progress.stop();
    const { text } = stderr;
    expect(text.endsWith('\u001b[1G\u001b[0K')).toBe(true);
    expect(text).not.toContain('\u001b[2J');
    progress.stop();
    progress.update({ pages: 4 });
    expect(stderr.text).toBe(text);
  });

  test.each([{ ACCESSIBLE: '1' }, { TERM: 'dumb' }])('with %j is a line every ten seconds', (environment) => {
    const stderr = fakeOutput(80);
    const progress = start(stderr, environment);
    progress.update({ pages: 1 });
    clock.advance(9_999);
    progress.update({ pages: 2 });
    clock.advance(1);
    progress.update({ pages: 3 });
    progress.update({ pages: 4 });
    clock.advance(10_000);
    progress.update({ pages: 5 });
    progress.stop();
    expect(stderr.text).toBe('searching: 3 pages\nsearching: 5 pages\n');
  });

  test('leaves the line to a question that is open when it would appear, and appears after the answer', async () => {
    const stderr = fakeOutput(80);
    const progress = start(stderr);
    const { keys, answer } = askOn(stderr);
    await vi.waitFor(() => expect(stderr.text).toContain('Passphrase: '), 10_000);
    await untilShown();
    expect(stderr.text).toBe('Passphrase: ');
    keys.write('secret\r');
    expect(await answer).toBe('secret');
    await untilShownOn(stderr);
    progress.stop();
  });

  test('goes when a question opens', async () => {
    const stderr = fakeOutput(80);
    const progress = start(stderr);
    await untilShownOn(stderr);
    const { keys, answer } = askOn(stderr);
    await vi.waitFor(() => expect(stderr.text).toContain('Passphrase: '), 10_000);
    await untilShown();
    expect(stderr.text.endsWith('\u001b[1G\u001b[0KPassphrase: ')).toBe(true);
    progress.stop();
    keys.write('secret\r');
    await answer;
    await untilShown();
    expect(stderr.text.endsWith('Passphrase: \n')).toBe(true);
  });

  test('shows nothing for short work', async () => {
    const stderr = fakeOutput(80);
    start(stderr).stop();
    await untilShown();
    expect(stderr.text).toBe('');
  });

  test.each([
    ['in a pipe', fakeOutput(), {}, false],
    ['under --quiet', fakeOutput(80), {}, true],
    ['on a dumb terminal', fakeOutput(80), { TERM: 'dumb' }, false],
    // `| head` and `| less` write to the terminal at any moment.
    ['while standard output is a pipe', fakeOutput(80), {}, false, fakeOutput()],
  ])('shows nothing %s', async (_, stderr, environment, quiet, stdout?: FakeOutput) => {
    const progress = start(stderr, environment, quiet, stdout);
    await untilShown();
    progress.stop();
    expect(stderr.text).toBe('');
  });
});

test('in a locale of ASCII, progress is drawn in ASCII', async () => {
  const stderr = fakeOutput(20);
  const progress = start(stderr, { LC_ALL: 'C' });
  progress.update({ pages: 1_000_000, events: 5_000_000 });
  await untilShownOn(stderr);
  progress.stop();
  expect(stripVTControlCharacters(stderr.text)).toMatch(/^[\x00-\x7f]*$/);
});
