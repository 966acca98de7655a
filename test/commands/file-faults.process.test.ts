import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startExporting } from '../support/exporting.ts';
import { DISK_ERRORS, eachFault, FULL, isTold, runFailing, startFailing } from '../support/file-faults.ts';
import { startHandler } from '../support/handler.ts';
import { createHome } from '../support/home.ts';
import { API_TOKEN, portOf, post } from '../support/listening.ts';
import { hooktrail } from '../support/program.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'];
const KINDS = [
  ['one fault at each file operation', DISK_ERRORS],
  ['the disk fills at each file operation', FULL],
  ['a signal at each file operation', SIGNALS],
] as const;

test.each(KINDS)(
  'export: %s, and the same command again ends with exactly the matching events',
  {
    timeout: 600_000,
  },
  async (kind, codes) => {
    await using at = await startExporting({ events: 120 });
    const args = ['events', 'export', at.directory, '--page-size', '5'];
    const whole = (await at.search('--ndjson')).stdout;
    const { operations } = await runFailing(at.env, args, 0, 'EIO');
    expect(operations).toBeGreaterThan(20);
    const broken = await eachFault(`export, ${kind}`, operations as number, codes, async (number, code) => {
      await rm(at.directory, { recursive: true, force: true });
      const { result } = await runFailing(at.env, args, number, code);
      const after = await hooktrail(args, { env: at.env });
      const lines = await at.lines().catch(String);
      const told = codes === SIGNALS || isTold(result);
      return told && after.code === 0 && lines === whole ? undefined : { result, after };
    });
    expect(broken).toEqual([]);
  },
);

test.each(KINDS)(
  'report: %s, and the page is the one of before or whole',
  {
    timeout: 600_000,
  },
  async (kind, codes) => {
    await using at = await startExporting({ events: 120 });
    const folder = path.dirname(at.directory);
    const page = path.join(folder, 'page.html');
    const args = ['events', 'report', page];
    const { operations } = await runFailing(at.env, args, 0, 'EIO');
    expect(operations).toBeGreaterThan(3);
    let before = await readFile(page, 'utf8');
    const broken = await eachFault(`report, ${kind}`, operations as number, codes, async (number, code) => {
      const { result } = await runFailing(at.env, args, number, code);
      const now = await readFile(page, 'utf8');
      const isWhole =
        now === before || (now.includes('<!doctype html>') && now.trimEnd().endsWith('</html>'));
      const isSaid = codes === SIGNALS || isTold(result);
      const isTrue = result.code !== 0 || result.stderr.includes('wrote ');
      before = now;
      return isSaid && isWhole && isTrue ? undefined : { result };
    });
    expect(broken).toEqual([]);
  },
);

test.each(KINDS)(
  'search --output-file: %s, and the file is the one of before or whole',
  {
    timeout: 600_000,
  },
  async (kind, codes) => {
    await using at = await startExporting({ events: 120 });
    const file = path.join(path.dirname(at.directory), 'events.ndjson');
    const args = ['events', 'search', '--ndjson', '--page-size', '20', '--output-file', file];
    const whole = (await at.search('--ndjson')).stdout;
    const { operations } = await runFailing(at.env, args, 0, 'EIO');
    expect(operations).toBeGreaterThan(3);
    expect(await readFile(file, 'utf8')).toBe(whole);
    const broken = await eachFault(`search, ${kind}`, operations as number, codes, async (number, code) => {
      await writeFile(file, 'old');
      const { result } = await runFailing(at.env, args, number, code);
      const now = await readFile(file, 'utf8');
      const isSaid = codes === SIGNALS || isTold(result);
      const isTrue = now === whole || (now === 'old' && result.code !== 0);
      return isSaid && isTrue ? undefined : { result, now };
    });
    expect(broken).toEqual([]);
  },
);

test.each(KINDS)(
  'listen: %s, and acknowledged events are known and were forwarded once',
  {
    timeout: 600_000,
  },
  async (kind, codes) => {
    await using handler = await startHandler();
    await using home = await createHome();
    const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
    let folder = '';
    const args = () => [
      ...['webhooks', 'listen', '--port', '0', '--journal', path.join(folder, 'events.journal')],
      ...['--forward-to', handler.url],
    ];
    /** Listens, receives six deliveries, two of them simultaneously, and ends. Resolves to the acknowledged ids. */
    const listen = async (name: string, number: number, code: string) => {
      const acknowledged: string[] = [];
      const faulty = await startFailing(env, args(), number, code);
      const { program } = faulty;
      const port = await portOf(program).catch(() => undefined);
      const send = async (id: string) => {
        const answer = await post(port as number, JSON.stringify({ eventId: id })).catch(() => undefined);
        if (answer?.status === 200) acknowledged.push(id);
      };
      if (port !== undefined) {
        for (const id of ['a', 'b', 'c', 'd']) await send(`${name} ${id}`);
        await Promise.all([send(`${name} e`), send(`${name} f`)]);
        program.kill('SIGTERM');
      }
      return { result: await program.finished, operations: await faulty.operations(), acknowledged };
    };
    let round = 0;
    const next = async () => {
      folder = path.join(home.folder, `round ${++round}`);
      await mkdir(folder, { mode: 0o700 });
      return `event ${round}`;
    };
    const { operations, acknowledged } = await listen(await next(), 0, 'EIO');
    expect(acknowledged).toHaveLength(6);
    expect(operations).toBeGreaterThan(20);
    const broken = await eachFault(`listen, ${kind}`, operations as number, codes, async (number, code) => {
      const name = await next();
      const first = await listen(name, number, code);
      const again = await listen(name, 0, 'EIO');
      const times = (id: string) => handler.taken.get(id) ?? 0;
      const held = first.acknowledged.every((id) => times(id) === 1) && again.acknowledged.length === 6;
      const told = codes === SIGNALS || first.result.code === 143 || isTold(first.result);
      return held && told ? undefined : { first, again };
    });
    expect(broken).toEqual([]);
  },
);
