import { cp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import {
  describeFaults,
  expectNoHarm,
  hasOutcomes,
  KINDS,
  READ_ERRORS,
  SIGNALS,
  type TracedCommand,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import { drawnCases } from '../support/seed.ts';

const ALL_KINDS = [...KINDS, ['one read error', READ_ERRORS]] as const;
const FORMS = [[], ['--partition', 'day']] as const;
const IN_ALL_FORMS = FORMS.flatMap((form) => ALL_KINDS.map(([kind, codes]) => [form, kind, codes] as const));

/** A command, and its operations on the export; only those that read, if only they are to fail. */
async function trace(
  at: Exporting,
  args: readonly string[],
  kind = 'one read error',
): Promise<TracedCommand> {
  const whole = await traceCommand(at.env, args, (file) => file.startsWith(at.directory));
  const isRead = (call: string) => ['openat', 'read', 'statx', 'getdents64'].includes(call);
  const operations = whole.operations.filter(({ call }) => kind !== 'one read error' || isRead(call));
  return { ...whole, operations };
}

describeFaults('a fault at any file operation', () => {
  test.each(drawnCases('export', 1, IN_ALL_FORMS))(
    'of an export %j: %s, and the same command again ends with exactly the matching events',
    async (form, kind, codes) => {
      await using at = await startExporting({ events: 120 });
      const args = ['events', 'export', at.directory, '--page-size', '5', ...form];
      const whole = (await at.search('--ndjson')).stdout;
      const command = await trace(at, args, kind);
      // Whatever the data is written with, the bytes of each part went through an operation that can fail.
      const written = command.operations
        .filter(({ call }) => call === 'write')
        .map((operation) => path.basename(operation.path).replace(/\.[0-9a-f]{16}\.tmp$/, ''));
      if (kind !== 'one read error')
        for (const part of await at.parts()) expect(written).toContain(path.basename(part));
      await expectNoHarm(`export ${form.join(' ')}, ${kind}`, command, codes, async (start) => {
        await rm(at.directory, { recursive: true, force: true });
        const result = await start().finished;
        const after = await at.export('--page-size', '5', ...form);
        const lines = await at.lines().catch(String);
        const told = codes === SIGNALS || hasOutcomes(result);
        return told && after.code === 0 && lines === whole ? undefined : { result, after };
      });
    },
  );

  test.each(drawnCases('export --update', 1, IN_ALL_FORMS))(
    'of export --update %j: %s, and no event is lost that the service has deleted',
    async (form, kind, codes) => {
      await using at = await startExporting({ events: 60, tokenLifetimeSeconds: 864_000 });
      const args = ['events', 'export', at.directory, '--page-size', '2', '--update', ...form];
      expect((await at.export('--page-size', '2', ...form)).code).toBe(0);
      const before = `${at.directory}-before`;
      await cp(at.directory, before, { recursive: true });
      const old = await at.ids();
      at.forget(old.slice(5));
      clock.advance(30 * 60_000);
      const added = Array.from({ length: 7 }, () => at.control.addEvent().eventId);
      clock.advance(2000);
      const restore = async () => {
        await rm(at.directory, { recursive: true, force: true });
        await cp(before, at.directory, { recursive: true });
      };
      const command = await trace(at, args, kind);
      const all = [...old, ...added].sort();
      expect((await at.ids()).sort()).toEqual(all);
      await expectNoHarm(`export --update ${form.join(' ')}, ${kind}`, command, codes, async (start) => {
        await restore();
        const result = await start().finished;
        const held = await at.ids().catch(() => []);
        const isTrue = result.code !== 0 || held.length === all.length;
        const after = await at.export('--page-size', '2', '--update', ...form);
        const isWhole = JSON.stringify((await at.ids()).sort()) === JSON.stringify(all);
        const told = codes === SIGNALS || hasOutcomes(result);
        return told && isTrue && after.code === 0 && isWhole
          ? undefined
          : { result, held: held.length, after };
      });
    },
  );

  test('of a run that verifies: a read error is an error, and no file is touched', async () => {
    await using at = await startExporting({ events: 60 });
    const args = ['events', 'export', at.directory, '--page-size', '2'];
    expect((await at.export('--page-size', '2')).code).toBe(0);
    const names = [...(await at.parts()), 'manifest.json'];
    const contents = () => Promise.all(names.map((name) => readFile(path.join(at.directory, name), 'utf8')));
    const before = await contents();
    at.forget(await at.ids());
    const command = await trace(at, args);
    const operations = command.operations.filter(
      // What the lock needs is not what the run reads.
      ({ path: file }) => file !== at.directory && !file.startsWith(path.join(at.directory, '.lock')),
    );
    const read = operations.map(({ path: file }) => path.relative(at.directory, file));
    expect(read).toEqual(expect.arrayContaining(names));
    await expectNoHarm('export, verified', { ...command, operations }, READ_ERRORS, async (start) => {
      const result = await start().finished;
      const isSame = JSON.stringify(await contents()) === JSON.stringify(before);
      return isSame && result.code !== 0 && hasOutcomes(result) ? undefined : result;
    });
  });
});
