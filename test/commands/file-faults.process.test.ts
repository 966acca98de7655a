import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DISK_ERRORS, eachFault, FULL, isTold, startFailing } from '../support/file-faults.ts';
import { startHandler } from '../support/handler.ts';
import { createHome } from '../support/home.ts';
import { API_TOKEN, portOf, post } from '../support/listening.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'];
const KINDS = [
  ['one fault at each file operation', DISK_ERRORS],
  ['the disk fills at each file operation', FULL],
  ['a signal at each file operation', SIGNALS],
] as const;

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
