import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import {
  describeFaults,
  expectNoHarm,
  hasOutcomes,
  KINDS,
  SIGNALS,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import { startSearching } from '../support/searching.ts';
import { drawnCases } from '../support/seed.ts';

const COMMANDS = [
  ['report', 'report FILE'],
  ['search --output-file', 'search --ndjson --page-size 20 --output-file FILE'],
] as const;

describeFaults('a fault at any file operation', () => {
  test.each(
    COMMANDS.flatMap(([name, line]) =>
      drawnCases(name, 1, KINDS).map(([kind, codes]) => [name, kind, line, codes] as const),
    ),
  )('of %s: %s, and the file is the one of before or whole', async (name, kind, line, codes) => {
    await using at = await startSearching({ events: 120 });
    const file = path.join(at.env['HOME'] as string, 'written.file');
    const args = ['events', ...line.replace('FILE', file).split(' ')];
    const command = await traceCommand(at.env, args, (one) => one.startsWith(file));
    expect(command.operations.filter(({ call }) => call === 'write')).not.toEqual([]);
    const isWhole = (text: string) =>
      name === 'report' ? /^<!doctype html>[\s\S]*<\/html>\s*$/.test(text) : text === whole;
    const whole = await readFile(file, 'utf8');
    expect(isWhole(whole)).toBe(true);
    await expectNoHarm(`${name}, ${kind}`, command, codes, async (start) => {
      await writeFile(file, 'old');
      const result = await start().finished;
      const now = await readFile(file, 'utf8');
      const isSaid = codes === SIGNALS || hasOutcomes(result);
      const isTrue = isWhole(now) || (now === 'old' && result.code !== 0);
      return isSaid && isTrue ? undefined : { result, now };
    });
  });
});
