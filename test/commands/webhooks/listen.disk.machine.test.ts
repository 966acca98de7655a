import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, inject, test } from 'vitest';
import { readIds } from '../../../src/webhooks/journal.ts';
import { thisMachine } from '../../support/context.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, portOf, post } from '../../support/listening.ts';
import { startListeningProcess } from '../../support/listening-process.ts';
import {
  DISK_ERRORS,
  eachOperation,
  FULL,
  isTold,
  SIGNALS,
  startFaulty,
  startTraced,
} from '../../support/machine/strace-faults.ts';
import { type Running, spawnHooktrail, startProcess } from '../../support/process.ts';
import { startRecovering } from '../../support/recovering.ts';
import { available } from '../../support/requirement.ts';

test.skipIf(process.platform === 'win32')(
  'on a full disk deliveries are refused, and acknowledged ones are kept',
  { timeout: 60_000 },
  async () => {
    await using handler = await startHandler();
    await using listening = await startListeningProcess('--forward-to', handler.url);
    listening.program.kill('SIGTERM');
    await listening.program.finished;
    // A limit on the size of files cuts short the write that reaches it, as a full disk does.
    const limited = spawn(
      'sh',
      [
        '-c',
        'ulimit -f 16 && exec "$@"',
        'sh',
        process.execPath,
        inject('program'),
        ...['webhooks', 'listen', '--port', '0', '--journal', listening.journal, '--forward-to', handler.url],
      ],
      { env: { ...listening.env, NODE_DISABLE_COMPILE_CACHE: '1' }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const errors: string[] = [];
    const acknowledged: number[] = [];
    const refused: number[] = [];
    try {
      const port = await spawnedPort(limited, errors);
      for (let at = 0; at < 1000; at += 20) {
        const ids = Array.from({ length: 20 }, (_, index) => at + index);
        const answers = await Promise.all(ids.map((id) => post(port, `{"eventId":"${id}"}`)));
        answers.forEach(({ status }, index) => {
          (status === 200 ? acknowledged : refused).push(ids[index] as number);
        });
        expect(answers.every(({ status }) => status === 200 || status === 502)).toBe(true);
      }
      expect(limited.exitCode).toBeNull();
    } finally {
      limited.kill('SIGKILL');
      await once(limited, 'close');
    }
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(refused.length).toBeGreaterThan(200);
    expect(errors.join('\n')).toMatch(/the journal \S+ cannot be written: EFBIG/);

    await listening.restart('SIGKILL');
    for (const id of acknowledged) {
      expect((await listening.send(`{"eventId":"${id}"}`)).body).toBe('{"outcome":"duplicate"}');
      expect(handler.taken.get(String(id))).toBe(1);
    }
    expect((await listening.send(`{"eventId":"${refused.at(-1)}"}`)).status).toBe(200);
  },
);

test('a write that was cut short is continued, and the journal is whole', async () => {
  await using home = await createHome();
  const journal = path.join(home.folder, 'events.journal');
  const preload = path.resolve(import.meta.dirname, '../../support/short-write.cjs');
  const env = {
    ...home.env,
    HOOKTRAIL_API_TOKEN: API_TOKEN,
    NODE_OPTIONS: `${home.env['NODE_OPTIONS']} --require="${preload}"`,
  };
  const program = startProcess(['webhooks', 'listen', '--port', '0', '--journal', journal], { env });
  const port = await portOf(program);
  for (let id = 0; id < 5; id++) expect((await post(port, `{"eventId":"${id}"}`)).status).toBe(200);
  program.kill('SIGTERM');
  expect((await program.finished).code).toBe(143);
  expect((await readIds(journal, thisMachine()))?.size).toBe(5);
});

test.skipIf(!available('prlimit'))(
  'when a full disk has room again, deliveries are accepted again behind the record that was cut',
  async () => {
    await using handler = await startHandler();
    await using home = await createHome();
    const journal = path.join(home.folder, 'events.journal');
    const args = ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
    const program = spawn(
      'sh',
      ['-c', 'ulimit -S -f 1 && exec "$@"', 'sh', process.execPath, inject('program'), ...args],
      {
        env: { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN, NODE_DISABLE_COMPILE_CACHE: '1' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const statuses: number[] = [];
    let whole = 0;
    const send = async (port: number, id: number) => {
      statuses.push((await post(port, `{"eventId":"${id}"}`)).status);
    };
    try {
      const port = await spawnedPort(program, []);
      for (let id = 0; id < 25; id++) await send(port, id);
      // The limit of 512 bytes is inside one of the records.
      whole = statuses.indexOf(502);
      expect(whole).toBeGreaterThan(5);
      expect(statuses).toEqual([...Array(whole).fill(200), ...Array(25 - whole).fill(502)]);
      execFileSync('/usr/bin/prlimit', [`--pid=${program.pid}`, '--fsize=unlimited:']);
      statuses.length = 0;
      for (let id = whole; id < 40; id++) await send(port, id);
      expect(new Set(statuses)).toEqual(new Set([200]));
    } finally {
      program.kill('SIGKILL');
      await once(program, 'close');
    }
    expect((await readIds(journal, thisMachine()))?.size).toBe(40);
    // Refused events reached the handler again, acknowledged ones did not.
    expect([...handler.taken.values()]).toEqual([
      ...Array(whole).fill(1),
      ...Array(25 - whole).fill(2),
      ...Array(15).fill(1),
    ]);
  },
);

test.skipIf(process.platform === 'win32')(
  'a journal that cannot be written is named at the start',
  async () => {
    await using home = await createHome();
    const journal = path.join(home.folder, 'events.journal');
    await writeFile(journal, '# hooktrail journal\n');
    await chmod(journal, 0o444);
    // Root may write anything, so the program runs as another user.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) {
      await chown(home.folder, 65_534, 65_534);
      // The parent folders are accessible to root only.
      for (let above = path.dirname(home.folder); above.startsWith(os.tmpdir()); above = path.dirname(above))
        await chmod(above, 0o711);
    }
    const program = spawn(
      process.execPath,
      [inject('program'), 'webhooks', 'listen', '--port', '0', '--journal', journal],
      {
        env: { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN },
        stdio: ['ignore', 'ignore', 'pipe'],
        ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
      },
    );
    let text = '';
    program.stderr.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const [code] = await once(program, 'close');
    expect(text).toMatch(
      /^error: --journal: \S+events\.journal cannot be used: EACCES: permission denied, open '.*'\nnext: /,
    );
    expect(code).toBe(2);
  },
);

test.skipIf(process.platform === 'win32')('a disk that is full at the start is reported', async () => {
  await using home = await createHome();
  const journal = path.join(home.folder, 'events.journal');
  const program = spawn(
    'sh',
    [
      '-c',
      'ulimit -f 0 && exec "$@"',
      'sh',
      process.execPath,
      inject('program'),
      ...['webhooks', 'listen', '--port', '0', '--journal', journal],
    ],
    {
      env: { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN, NODE_DISABLE_COMPILE_CACHE: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let text = '';
  program.stderr.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  const [code] = await once(program, 'close');
  expect(text).toMatch(/^error: --journal: \S+events\.journal cannot be used: EFBIG: .*\nnext: /);
  expect(code).toBe(2);
});

test.skipIf(process.platform === 'win32').each(['with', 'without'])(
  'the line of each acknowledged delivery is whole in a file that cannot grow, %s a handler',
  async (kind) => {
    await using handler = await startHandler();
    await using home = await createHome();
    const output = path.join(home.folder, 'events.ndjson');
    const journal = path.join(home.folder, 'events.journal');
    const forward = kind === 'with' ? ['--forward-to', handler.url] : [];
    const program = spawn(
      'sh',
      [
        ...['-c', 'ulimit -f 16 && out=$1 && shift && exec "$@" > "$out"', 'sh', output],
        ...[process.execPath, inject('program')],
        ...['webhooks', 'listen', '--port', '0', '--journal', journal, ...forward],
      ],
      {
        env: { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN, NODE_DISABLE_COMPILE_CACHE: '1' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const errors: string[] = [];
    const acknowledged: string[] = [];
    const port = await spawnedPort(program, errors);
    const closed = once(program, 'close');
    for (let at = 0; at < 100 && program.exitCode === null; at++) {
      // The limit cuts the last line, since it is not a multiple of the line length.
      const body = `{"eventId":"${at}","pad":"${'x'.repeat(333)}"}`;
      const answer = await post(port, body).catch(() => ({ status: 0 }));
      if (answer.status === 200) acknowledged.push(String(at));
    }
    expect(await closed).toEqual([1, null]);
    expect(errors.at(-1)).toMatch(/^error: the output cannot be written: EFBIG/);
    const lines = (await readFile(output, 'utf8')).split('\n').slice(0, -1);
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(lines.map((line) => JSON.parse(line).eventId)).toEqual(acknowledged);
  },
);

test.skipIf(process.platform === 'win32')(
  'a delivery that was answered 502, since its line could not be written, gets its line when it is sent again',
  async () => {
    await using handler = await startHandler();
    await using home = await createHome();
    const output = path.join(home.folder, 'events.ndjson');
    const journal = path.join(home.folder, 'events.journal');
    const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN, NODE_DISABLE_COMPILE_CACHE: '1' };
    const command = [process.execPath, inject('program'), 'webhooks', 'listen', '--port', '0'];
    const args = [...command, '--journal', journal, '--forward-to', handler.url];
    const listen = (limit: string) =>
      spawn(
        'sh',
        ['-c', `ulimit -f ${limit} && out=$1 && shift && exec "$@" >> "$out"`, 'sh', output, ...args],
        {
          env,
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
    const body = (id: number) => `{"eventId":"${id}","pad":"${'x'.repeat(333)}"}`;
    const limited = listen('16');
    const closed = once(limited, 'close');
    const port = await spawnedPort(limited, []);
    let refused = 0;
    for (; refused < 100; refused++) {
      const { status } = await post(port, body(refused)).catch(() => ({ status: 0 }));
      if (status !== 200) break;
    }
    await closed;
    const again = listen('unlimited');
    try {
      const port = await spawnedPort(again, []);
      expect((await post(port, body(refused))).status).toBe(200);
    } finally {
      again.kill('SIGKILL');
      await once(again, 'close');
    }
    const lines = (await readFile(output, 'utf8')).split('\n').slice(0, -1);
    // No part of the line that did not fit stands before it.
    expect(lines.map((line) => JSON.parse(line).eventId)).toEqual(
      Array.from({ length: refused + 1 }, (_, id) => String(id)),
    );
  },
);

async function spawnedPort(program: ChildProcess, errors: string[]): Promise<number> {
  const lines = createInterface(program.stderr as NodeJS.ReadableStream);
  return await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      errors.push(line);
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
      if (port) resolve(Number(port));
    });
    lines.on('close', () => reject(new Error(errors.join('\n'))));
  });
}

const KINDS = [
  ['one error', DISK_ERRORS],
  ['a disk that is full from then on', FULL],
  ['a signal', SIGNALS],
] as const;
const EVENTS = 4;

describe.skipIf(!available('the right to trace a process (strace)'))(
  'a fault at any file operation of a listener that also serves recover',
  { timeout: 600_000 },
  () => {
    test.each(KINDS)(
      '%s: what it acknowledged is printed, journaled and forwarded once',
      async (kind, codes) => {
        await using at = await startRecovering({ events: EVENTS });
        const { handler, env } = at;
        const home = env['HOME'] as string;
        const folder = path.join(home, 'journals');
        const journal = path.join(folder, 'events.journal');
        const fresh = async () => {
          await rm(folder, { recursive: true, force: true });
          await mkdir(folder, { mode: 0o700 });
          handler.taken.clear();
        };
        const args = [
          ...['webhooks', 'listen', '--port', '0', '--journal', journal],
          ...['--forward-to', handler.url],
        ];
        /** Sends deliveries, two of them at once, and recovers through the listener. Resolves to the acknowledged ids. */
        const use = async (program: Running) => {
          const acknowledged: string[] = [];
          const port = await portOf(program).catch(() => undefined);
          const send = async (eventId: string) => {
            const answer = await post(port as number, JSON.stringify({ eventId })).catch(() => undefined);
            if (answer?.status === 200) acknowledged.push(eventId);
          };
          let recovered: string | undefined;
          if (port !== undefined) {
            for (const id of ['a', 'b']) await send(id);
            await Promise.all([send('c'), send('d')]);
            const recovery = at.args('--journal', journal, '--retry-for', '1s', '--ndjson');
            const { code, stderr } = await spawnHooktrail(recovery, { env });
            recovered = `${code} ${stderr}`;
            program.kill('SIGTERM');
          }
          return { result: await program.finished, acknowledged, recovered };
        };
        await fresh();
        const traced = await startTraced(env, args, (file) => file.startsWith(home));
        const whole = await use(traced.program);
        expect([whole.acknowledged.sort(), whole.recovered]).toEqual([
          ['a', 'b', 'c', 'd'],
          expect.stringContaining(`0 ${EVENTS} forwarded; 0 in the journal already; 0 left\n`),
        ]);
        const operations = await traced.operations();
        expect(operations.length).toBeGreaterThan(40);
        const broken = await eachOperation(
          `listen, ${kind}`,
          operations,
          codes,
          async (operation, code) => {
            await fresh();
            const first = await use(await startFaulty(env, args, operation, code, operations));
            const printed = first.result.stdout
              .split('\n')
              .filter(Boolean)
              .map((line) => JSON.parse(line).eventId);
            const once = first.acknowledged.every(
              (id) => handler.taken.get(id) === 1 && printed.includes(id),
            );
            // Another listener knows what was acknowledged, and takes the rest.
            const again = await use((await startTraced(env, args, () => false)).program);
            const known = first.acknowledged.every((id) => handler.taken.get(id) === 1);
            const all = again.acknowledged.length === 4 && handler.taken.size === 4 + EVENTS;
            const told = codes === SIGNALS || first.result.code === 143 || isTold(first.result);
            const isRecovered = again.recovered?.startsWith('0 ');
            return once && known && all && told && isRecovered
              ? undefined
              : { once, known, all, told, first, again };
          },
          5,
        );
        expect(broken).toEqual([]);
      },
    );
  },
);
