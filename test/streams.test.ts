import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { inputOf } from '../src/streams.ts';

async function linesIn(chunks: Iterable<string | Buffer>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of inputOf(() => Readable.from(chunks, { objectMode: false })).lines())
    lines.push(line);
  return lines;
}

test.each([
  ['LF and CRLF', ['one\ntwo\r\nthree\n'], ['one', 'two', 'three']],
  ['no end of the last line', ['one\ntwo'], ['one', 'two']],
  ['empty lines', ['\n\r\n\none'], ['', '', '', 'one']],
  [
    'chunks that cut a line, its end and a letter',
    ['o', 'ne\r', '\n\xc3', '\xa4\n'].map(latin),
    ['one', 'ä'],
  ],
  ['U+2028, which JSON may hold', ['"a\u2028b"\n'], ['"a\u2028b"']],
  ['nothing', [], []],
])('lines of standard input with %s', async (_, chunks, lines) => {
  expect(await linesIn(chunks)).toEqual(lines);
});

function latin(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

test('a line of standard input above 64 MiB is an error before it fills the memory', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let read = 0;
  function* endless() {
    for (;;) {
      read++;
      yield piece;
    }
  }
  await expect(linesIn(endless())).rejects.toMatchObject({
    exitCode: 2,
    message: 'standard input has a line of more than 64 MiB',
    next: 'give one id, message or secret a line',
  });
  expect(read).toBeLessThan(80);
});

test('the lines that somebody left do not keep their input flowing', async () => {
  const input = new PassThrough();
  input.write('one\ntwo\n');
  for await (const line of inputOf(() => input).lines()) {
    expect(line).toBe('one');
    break;
  }
  expect(input.isPaused()).toBe(true);
  expect(input.listenerCount('data')).toBe(0);
});
