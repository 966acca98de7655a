import { randomUUID } from 'node:crypto';
import path from 'node:path';
import autocannon from 'autocannon';
import { median } from './measure.ts';
import { printTable } from './table.ts';
import {
  API_TOKEN,
  cpuSeconds,
  journalFolder,
  type Peer,
  startListen,
  startPeer,
} from './webhook-processes.ts';

const ROUNDS = 5;
const SECONDS = 5;
const CONNECTIONS = [10, 50, 100];
/** The size of a delivery in bytes, about that of the sandbox's events. */
const PADDING = 'x'.repeat(440);

interface Run {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly cpu: number;
  readonly failures: number;
}

/**
 * Compares `webhooks listen` with a handler and a journal, the simplest proxy in front of the same handler, and only
 * the handler, each in its own process. They take turns, so that a busy moment of the machine affects all of them.
 */
export async function benchWebhookLoad(): Promise<void> {
  await using folder = await journalFolder();
  await using handler = await startPeer('handler');
  await using proxy = await startPeer('proxy', String(handler.port));
  await using listen = await startListen(
    path.join(folder.path, 'events.journal'),
    0,
    ...['--forward-to', `http://127.0.0.1:${handler.port}/`],
  );
  const targets: Readonly<Record<string, Peer>> = {
    'the handler directly': handler,
    'a plain proxy': proxy,
    'webhooks listen': listen,
  };
  for (const target of Object.values(targets)) await load(target, 50, 2);
  for (const connections of CONNECTIONS) {
    const runs = new Map<string, Run[]>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, target] of Object.entries(targets)) {
        runs.set(name, [...(runs.get(name) ?? []), await load(target, connections, SECONDS)]);
      }
    }
    const of = (name: string, pick: (run: Run) => number) => median((runs.get(name) as Run[]).map(pick));
    const base = of('a plain proxy', ({ rate }) => rate);
    printTable(
      `deliveries over ${connections} connections (medians of ${ROUNDS} runs of ${SECONDS} s)`,
      ['', 'a second', 'of the proxy', 'p50 ms', 'p99 ms', 'max ms', 'µs CPU a delivery', 'failures'],
      Object.keys(targets).map((name) => [
        name,
        of(name, ({ rate }) => rate).toFixed(0),
        `${((of(name, ({ rate }) => rate) / base) * 100).toFixed(0)} %`,
        of(name, ({ p50 }) => p50).toFixed(0),
        of(name, ({ p99 }) => p99).toFixed(0),
        of(name, ({ max }) => max).toFixed(0),
        of(name, ({ cpu }) => cpu * 1e6).toFixed(0),
        String((runs.get(name) as Run[]).reduce((sum, { failures }) => sum + failures, 0)),
      ]),
    );
  }
}

async function load(target: Peer, connections: number, duration: number): Promise<Run> {
  const before = await cpuSeconds(target.process);
  const result = await autocannon({
    url: `http://127.0.0.1:${target.port}/`,
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
  return {
    rate: result['2xx'] / result.duration,
    p50,
    p99,
    max,
    cpu: ((await cpuSeconds(target.process)) - before) / result['2xx'],
    failures: result.non2xx + result.errors,
  };
}
