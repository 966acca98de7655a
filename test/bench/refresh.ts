import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { measure, median } from './measure.ts';
import { program } from './sandbox-process.ts';
import { signInTo } from './signed-in.ts';
import { printTable } from './table.ts';

const PROCESSES = 40;
const ROUNDS = 5;

/** Many commands at once on a token that has just expired: how long they take, and how often the token is rotated. */
export async function benchRefresh(): Promise<void> {
  await using sandbox = await startSandbox({ events: 100, autoApprove: true, tokenLifetimeSeconds: 75 });
  await using signedIn = await signInTo(sandbox.settings);
  const command = { file: process.execPath, args: [program, 'token'], env: signedIn.env };
  const rotations = () => sandbox.log.filter(({ grantType }) => grantType === 'refresh_token').length;
  const refused = () => sandbox.log.filter(({ error }) => error === 'invalid_grant').length;
  const seconds: number[] = [];
  const counts: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // A token is refreshed a minute before its end: it is taken for good for 15 s.
    await delay(16_000);
    const before = rotations();
    const began = performance.now();
    await Promise.all(Array.from({ length: PROCESSES }, () => measure(command)));
    seconds.push((performance.now() - began) / 1000);
    counts.push(rotations() - before);
  }
  printTable(
    `${PROCESSES} parallel \`hooktrail token\` on an expired token (${signedIn.store} store, ${ROUNDS} rounds)`,
    ['median seconds', 'rotations a round', 'refused refreshes'],
    [[median(seconds).toFixed(2), counts.join(', '), String(refused())]],
  );
}
