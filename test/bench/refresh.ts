import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '../support/sandbox.ts';
import { measure, median, pairedRatio, printTable } from './measure.ts';
import { program, signInTo } from './processes.ts';

const PROCESSES = 40;
const ROUNDS = 3;
/**
 * The token lifetime in seconds. A token is refreshed a minute before its end, so this one counts as valid
 * for half a minute.
 */
const LIFETIME = 90;

/**
 * Measures many simultaneous commands with a token that has just expired, compared with as many with a valid
 * one, and counts the rotations.
 */
export async function benchRefresh(): Promise<void> {
  await using sandbox = await startSandbox({
    events: 100,
    autoApprove: true,
    tokenLifetimeSeconds: LIFETIME,
  });
  await using signedIn = await signInTo(sandbox.settings);
  const command = { file: process.execPath, args: [program, 'token'], env: signedIn.env };
  const rotations = () => sandbox.log.filter(({ grantType }) => grantType === 'refresh_token').length;
  const refused = () => sandbox.log.filter(({ error }) => error === 'invalid_grant').length;
  const together = async () => {
    const began = performance.now();
    await Promise.all(Array.from({ length: PROCESSES }, () => measure(command)));
    return (performance.now() - began) / 1000;
  };
  const expired: number[] = [];
  const good: number[] = [];
  const counts: number[] = [];
  await together();
  for (let round = 0; round < ROUNDS; round++) {
    await delay((LIFETIME - 60 + 1) * 1000);
    const before = rotations();
    expired.push(await together());
    good.push(await together());
    counts.push(rotations() - before);
  }
  printTable(
    `${PROCESSES} parallel \`hooktrail token\` (${signedIn.store} store, medians of ${ROUNDS} rounds)`,
    ['seconds, expired', 'seconds, good', 'ratio of each pair', 'rotations a round', 'refused refreshes'],
    [
      [
        median(expired).toFixed(2),
        median(good).toFixed(2),
        pairedRatio(expired, good).toFixed(2),
        counts.join(', '),
        String(refused()),
      ],
    ],
  );
}
