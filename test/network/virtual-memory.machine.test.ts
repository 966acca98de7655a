import { execFile } from 'node:child_process';
import { expect, inject, test } from 'vitest';
import { startSearching } from '../support/searching.ts';

/** Runs the program as a shared host does that allows 8 GiB of virtual memory. */
async function limited(args: readonly string[], env: Readonly<Record<string, string>>) {
  const words = ['-c', 'ulimit -v 8388608; exec "$@"', 'sh', process.execPath, inject('program'), ...args];
  return await new Promise((resolve) => {
    execFile('sh', words, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

test.each([
  [['events', 'search'], 'WebAssembly cannot start: this shell limits virtual memory'],
  [
    ['events', 'search', '--json', '--jq', '.[]'],
    '--jq: WebAssembly cannot start: this shell limits virtual memory',
  ],
])('%j under a limit of virtual memory is named as that', async (args, message) => {
  await using at = await startSearching({ events: 1 });
  expect(await limited(args, { PATH: process.env['PATH'] ?? '', ...at.env })).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: ${message}\nnext: raise the limit, as with \`ulimit -v unlimited\`: WebAssembly reserves some 10 GiB of addresses, and uses few of them\n`,
  });
});
