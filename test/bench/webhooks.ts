import { randomBytes, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import autocannon from 'autocannon';
import { median, printTable, usageOf } from './measure.ts';
import { API_TOKEN, createFolder, type Peer, startListen, startPeer } from './processes.ts';

/** Measures deliveries a second, and a journal of a million ids. For crashes, see `npm run faults`. */
export async function benchWebhooks(): Promise<void> {
  await deliveries();
  await journals();
}

const RUNS = 5;
const SECONDS = 5;
/** The size of a delivery in bytes, about that of the sandbox's events. */
const PADDING = 'x'.repeat(440);

type Run = Readonly<Record<'rate' | 'p50' | 'p99' | 'max' | 'cpu' | 'failures', number>>;

const portOf = ({ line }: Peer) => /127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? line;

/**
 * Compares `webhooks listen` with a handler and a journal, the simplest proxy in front of the same handler, and only
 * the handler, each in its own process. They take turns, so that a busy moment of the machine affects all of them.
 */
async function deliveries(): Promise<void> {
  await using folder = await createFolder();
  await using handler = await startPeer('handler');
  await using proxy = await startPeer('proxy', handler.line);
  const journal = path.join(folder.path, 'events.journal');
  await using listen = await startListen(journal, '--forward-to', `http://127.0.0.1:${handler.line}/`);
  const targets = { 'the handler directly': handler, 'a plain proxy': proxy, 'webhooks listen': listen };
  for (const target of Object.values(targets)) await load(target, 50, 2);
  for (const connections of [10, 50, 100]) {
    const runs: Record<string, Run[]> = {};
    for (let round = 0; round < RUNS; round++)
      for (const [name, target] of Object.entries(targets))
        runs[name] = [...(runs[name] ?? []), await load(target, connections, SECONDS)];
    const of = (name: string, what: keyof Run) => median((runs[name] ?? []).map((run) => run[what]));
    printTable(
      `deliveries over ${connections} connections (medians of ${RUNS} runs of ${SECONDS} s)`,
      ['', 'a second', 'of the proxy', 'p50 ms', 'p99 ms', 'max ms', 'µs CPU a delivery', 'failures'],
      Object.keys(targets).map((name) => [
        name,
        of(name, 'rate').toFixed(0),
        `${((of(name, 'rate') / of('a plain proxy', 'rate')) * 100).toFixed(0)} %`,
        ...(['p50', 'p99', 'max'] as const).map((what) => of(name, what).toFixed(0)),
        (of(name, 'cpu') * 1e6).toFixed(0),
        String((runs[name] ?? []).reduce((sum, { failures }) => sum + failures, 0)),
      ]),
    );
  }
}

async function load(target: Peer, connections: number, duration: number): Promise<Run> {
  const before = await usageOf(target.process);
  const result = await autocannon({
    url: `http://127.0.0.1:${portOf(target)}/`,
    connections,
    duration,
    requests: [
      {
        method: 'POST',
        headers: { 'api-token': API_TOKEN, 'content-type': 'application/json' },
        setupRequest: (request) => ({
          ...request,
          body: `{"eventId":"${randomUUID()}","pad":"${PADDING}"}`,
        }),
      },
    ],
  });
  const { p50, p99, max } = result.latency;
  const cpu = (await usageOf(target.process)).cpu - before.cpu;
  return {
    ...{ p50, p99, max, cpu: cpu / result['2xx'] },
    rate: result['2xx'] / result.duration,
    failures: result.non2xx + result.errors,
  };
}

/** Measures the space of an id on disk and in memory, and the time that `webhooks listen` takes to start listening. */
async function journals(): Promise<void> {
  const rows: (string | number)[][] = [];
  let empty = 0;
  for (const ids of [0, 100_000, 1_000_000]) {
    await using folder = await createFolder();
    const journal = path.join(folder.path, 'events.journal');
    await pipeline(content(ids), createWriteStream(journal));
    const disk = (await stat(journal)).size;
    const times: number[] = [];
    let resident = 0;
    for (let round = 0; round < 3; round++) {
      const began = performance.now();
      await using listen = await startListen(journal);
      times.push((performance.now() - began) / 1000);
      resident = (await usageOf(listen.process)).miB;
    }
    if (ids === 0) empty = resident;
    const anId = (bytes: number) => (ids === 0 ? '-' : (bytes / ids).toFixed(1));
    rows.push([
      ids.toLocaleString('en-US'),
      ...[(disk / 2 ** 20).toFixed(0), anId(disk)],
      ...[resident.toFixed(0), anId((resident - empty) * 2 ** 20)],
      median(times),
    ]);
  }
  printTable(
    'start of webhooks listen by the size of its journal (medians of 3)',
    ['ids', 'MiB on disk', 'bytes an id', 'MiB resident', 'bytes an id', 'seconds to listen'],
    rows,
  );
}

function* content(ids: number): Generator<string> {
  yield '# hooktrail journal\n';
  const seconds = Math.floor(Date.now() / 1000);
  for (let at = 0; at < ids; at += 10_000) {
    const length = Math.min(ids - at, 10_000);
    yield Array.from({ length }, () => `${randomBytes(16).toString('hex')} ${seconds}\n`).join('');
  }
}
