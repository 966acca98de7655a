import { cp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { type Exporting, startExporting } from '../../support/exporting.ts';
import { available } from '../../support/machine/requirement.ts';
import {
  DISK_ERRORS,
  eachOperation,
  FULL,
  isTold,
  READ_ERRORS,
  SIGNALS,
  startFaulty,
  startTraced,
} from '../../support/machine/strace-faults.ts';

const KINDS = [
  ['one error', DISK_ERRORS],
  ['one read error', READ_ERRORS],
  ['a disk that is full from then on', FULL],
  ['a signal', SIGNALS],
] as const;
const isRead = (call: string) => ['openat', 'read', 'statx', 'getdents64'].includes(call);

/** The operations on the export that a run of it makes. */
async function traced(at: Exporting, args: readonly string[]) {
  const { program, operations } = await startTraced(at.env, args, (file) => file.startsWith(at.directory));
  const result = await program.finished;
  expect(result.code).toBe(0);
  return operations();
}

describe.skipIf(!available('the right to trace a process (strace)'))(
  'a fault at any file operation',
  { timeout: 600_000 },
  () => {
    test.each(KINDS)(
      'of an export: %s, and the same command again ends with exactly the matching events',
      async (kind, codes) => {
        await using at = await startExporting({ events: 120 });
        const args = ['events', 'export', at.directory, '--page-size', '5'];
        const whole = (await at.search('--ndjson')).stdout;
        const operations = await traced(at, args);
        // Whatever the data is written with, the bytes of each part went through an operation that can fail.
        const written = operations
          .filter(({ call }) => call === 'write')
          .map((operation) => path.basename(operation.path));
        for (const part of await at.parts()) expect(written).toContain(`${part}.tmp`);
        const chosen = kind === 'one read error' ? operations.filter(({ call }) => isRead(call)) : operations;
        const broken = await eachOperation(`export, ${kind}`, chosen, codes, async (operation, code) => {
          await rm(at.directory, { recursive: true, force: true });
          const result = await (await startFaulty(at.env, args, operation, code, operations)).finished;
          const after = await at.export('--page-size', '5');
          const lines = await at.lines().catch(String);
          const told = codes === SIGNALS || isTold(result);
          return told && after.code === 0 && lines === whole ? undefined : { result, after };
        });
        expect(broken).toEqual([]);
      },
    );

    test.each(KINDS)(
      'of export --update: %s, and no event is lost that the service has deleted',
      async (kind, codes) => {
        await using at = await startExporting({ events: 60, tokenLifetimeSeconds: 864_000 });
        const args = ['events', 'export', at.directory, '--page-size', '2', '--update'];
        expect((await at.export('--page-size', '2')).code).toBe(0);
        const before = `${at.directory}-before`;
        await cp(at.directory, before, { recursive: true });
        const old = await at.ids();
        const { control } = at.sandbox;
        at.forget(old.slice(5));
        clock.advance(30 * 60_000);
        const added = Array.from({ length: 7 }, () => control.addEvent().eventId);
        clock.advance(2000);
        const restore = async () => {
          await rm(at.directory, { recursive: true, force: true });
          await cp(before, at.directory, { recursive: true });
        };
        const operations = await traced(at, args);
        const all = [...old, ...added].sort();
        expect((await at.ids()).sort()).toEqual(all);
        const chosen = kind === 'one read error' ? operations.filter(({ call }) => isRead(call)) : operations;
        const broken = await eachOperation(
          `export --update, ${kind}`,
          chosen,
          codes,
          async (operation, code) => {
            await restore();
            const result = await (await startFaulty(at.env, args, operation, code, operations)).finished;
            const held = await at.ids().catch(() => []);
            const isTrue = result.code !== 0 || held.length === all.length;
            const after = await at.export('--page-size', '2', '--update');
            const isWhole = JSON.stringify((await at.ids()).sort()) === JSON.stringify(all);
            const told = codes === SIGNALS || isTold(result);
            return told && isTrue && after.code === 0 && isWhole
              ? undefined
              : { result, held: held.length, after };
          },
        );
        expect(broken).toEqual([]);
      },
    );

    test('of a run that verifies: a read error is an error, and no file is touched', async () => {
      await using at = await startExporting({ events: 60 });
      const args = ['events', 'export', at.directory, '--page-size', '2'];
      expect((await at.export('--page-size', '2')).code).toBe(0);
      const names = [...(await at.parts()), 'manifest.json'];
      const contents = () =>
        Promise.all(names.map((name) => readFile(path.join(at.directory, name), 'utf8')));
      const before = await contents();
      at.forget(await at.ids());
      const operations = (await traced(at, args)).filter(
        (operation) => isRead(operation.call) && operation.path !== at.directory,
      );
      expect(operations.length).toBeGreaterThan(10);
      const broken = await eachOperation(
        'export, verified',
        operations,
        READ_ERRORS,
        async (operation, code) => {
          const result = await (await startFaulty(at.env, args, operation, code, operations)).finished;
          const isSame = JSON.stringify(await contents()) === JSON.stringify(before);
          return isSame && result.code !== 0 && isTold(result) ? undefined : result;
        },
      );
      expect(broken).toEqual([]);
    });
  },
);
