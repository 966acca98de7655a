import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { available } from '../../support/machine/requirement.ts';
import {
  DISK_ERRORS,
  eachOperation,
  FULL,
  isTold,
  SIGNALS,
  startFaulty,
  startTraced,
} from '../../support/machine/strace-faults.ts';
import { startSearching } from '../../support/searching.ts';

const KINDS = [
  ['one error', DISK_ERRORS],
  ['a disk that is full from then on', FULL],
  ['a signal', SIGNALS],
] as const;
const COMMANDS = [
  ['report', (file: string) => ['report', file]],
  [
    'search --output-file',
    (file: string) => ['search', '--ndjson', '--page-size', '20', '--output-file', file],
  ],
] as const;
const CASES = COMMANDS.flatMap(([name, args]) =>
  KINDS.map(([kind, codes]) => [name, kind, args, codes] as const),
);

describe.skipIf(!available('the right to trace a process (strace)'))(
  'a fault at any file operation',
  { timeout: 600_000 },
  () => {
    test.each(CASES)(
      'of %s: %s, and the file is the one of before or whole',
      async (name, kind, command, codes) => {
        await using at = await startSearching({ events: 120 });
        const file = path.join(at.env['HOME'] as string, 'written.file');
        const args = ['events', ...command(file)];
        const { program, operations: ended } = await startTraced(at.env, args, (one) => one.startsWith(file));
        expect((await program.finished).code).toBe(0);
        const operations = await ended();
        expect(operations.filter(({ call }) => call === 'write')).not.toEqual([]);
        const isWhole = (text: string) =>
          name === 'report' ? /^<!doctype html>[\s\S]*<\/html>\s*$/.test(text) : text === whole;
        const whole = await readFile(file, 'utf8');
        expect(isWhole(whole)).toBe(true);
        const broken = await eachOperation(
          `${name}, ${kind}`,
          operations,
          codes,
          async (operation, code) => {
            await writeFile(file, 'old');
            const result = await (await startFaulty(at.env, args, operation, code, operations)).finished;
            const now = await readFile(file, 'utf8');
            const isSaid = codes === SIGNALS || isTold(result);
            const isTrue = isWhole(now) || (now === 'old' && result.code !== 0);
            return isSaid && isTrue ? undefined : { result, now };
          },
          8,
        );
        expect(broken).toEqual([]);
      },
    );
  },
);
