import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hasTerminal, startOnTerminal } from '../support/machine/terminal.ts';

// In a session of its own a program gets nothing from the terminal: a SIGINT there would be the sandbox's.
test.skipIf(!hasTerminal).each([
  ['once, from the terminal', [], 1],
  ['not from the sandbox', ['setsid'], 0],
])('Ctrl-C reaches the command of a sandbox %s', async (_name, before, times) => {
  await using home = await createHome();
  const file = path.join(home.folder, 'command.cjs');
  await writeFile(
    file,
    `let count = 0;
process.on('SIGINT', () => count++);
process.stdin.once('data', () => setTimeout(() => process.exit(20 + count), 500));
console.log('ready');`,
  );
  const words = ['sandbox', '--events', '0', '--', ...before, process.execPath, file];
  const terminal = startOnTerminal(words, { env: home.env });
  await terminal.shows(/^ready/);
  terminal.type('\u0003');
  terminal.type('go\n');
  expect(await terminal.finished).toBe(20 + times);
});
