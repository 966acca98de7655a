import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import autocannon from 'autocannon';
import { printTable } from './table.ts';
import { API_TOKEN, journalFolder, startListen, startPeer } from './webhook-processes.ts';

const ROUNDS = 5;
const CONNECTIONS = 50;

/** Kills `webhooks listen` in mid-load, starts it again, and sends every event once more. */
export async function benchWebhookCrash(): Promise<void> {
  const rows: string[][] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    await using folder = await journalFolder();
    await using handler = await startPeer('handler', 'counting');
    const journal = path.join(folder.path, 'events.journal');
    const forward = ['--forward-to', `http://127.0.0.1:${handler.port}/`];
    const victim = await startListen(journal, 0, ...forward);
    const acknowledged = new Set<string>();
    const sent: string[] = [];
    const loading = deliver(victim.port, 30, () => sent[sent.push(randomUUID()) - 1], acknowledged);
    await setTimeout(1_500 + Math.random() * 1_000);
    victim.process.kill('SIGKILL');
    await once(victim.process, 'exit');
    loading.stop();
    await loading;
    const told = new Set(acknowledged);

    await using again = await startListen(journal, 0, ...forward);
    const waiting = [...sent];
    const repeating = deliver(again.port, 120, () => waiting.pop() ?? sent[0], acknowledged);
    while (waiting.length > 0) await setTimeout(20);
    await setTimeout(500);
    repeating.stop();
    await repeating;

    const counts = new Map<string, number>(
      (await (await fetch(`http://127.0.0.1:${handler.port}/`)).json()) as [string, number][],
    );
    const doubled = [...counts].filter(([, times]) => times > 1).map(([id]) => id);
    rows.push([
      String(round),
      String(sent.length),
      String(told.size),
      String([...told].filter((id) => !counts.has(id)).length),
      String(doubled.filter((id) => told.has(id)).length),
      String(sent.length - counts.size),
      String(doubled.filter((id) => !told.has(id)).length),
    ]);
  }
  printTable(
    `SIGKILL in mid-load over ${CONNECTIONS} connections, then everything sent again`,
    [
      'round',
      'sent',
      'acknowledged',
      'of these lost',
      'of these doubled',
      'lost at all',
      'in doubt, handed over again',
    ],
    rows,
  );
}

function deliver(
  port: number,
  duration: number,
  next: () => string | undefined,
  acknowledged: Set<string>,
): ReturnType<typeof autocannon> {
  return autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: CONNECTIONS,
    duration,
    requests: [
      {
        method: 'POST',
        headers: { 'api-token': API_TOKEN, 'content-type': 'application/json' },
        setupRequest: (request, context) => {
          context.id = next() ?? '';
          return { ...request, body: JSON.stringify({ eventId: context.id }) };
        },
        onResponse: (status, _body, context) => {
          if (status === 200 && context.id) acknowledged.add(context.id);
        },
      },
    ],
  });
}
