import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { forEachTest } from '../support/each-test.ts';
import { spawnHooktrail } from '../support/process.ts';
import { faultRounds, noteFaults, randomOf } from '../support/seed.ts';
import { startSigningIn } from '../support/signing-in.ts';

const preload = path.join(import.meta.dirname, '../support/killed-at-operation.cjs');

/** More than the hour after which an unfinished file counts as abandoned. */
const AGE_SECONDS = 4_000;

const at = forEachTest(() => startSigningIn());

/** The operations of the last run that was not killed are counted in a file. */
async function run(args: readonly string[], killAt?: number) {
  const operations = path.join(at.home.folder, 'operations');
  const env = {
    ...at.env,
    HOOKTRAIL_BROWSER: browserCommand,
    NODE_OPTIONS: `${at.env['NODE_OPTIONS'] ?? ''} --require="${preload}"`,
    HOOKTRAIL_TEST_OPERATIONS: operations,
    HOOKTRAIL_TEST_KILL_AT: killAt === undefined ? undefined : String(killAt),
  };
  const { code } = await spawnHooktrail(args, { env });
  return { code, operations: () => Number(readFileSync(operations, 'utf8')) };
}

function unfinishedFiles(): string[] {
  const names = readdirSync(at.home.folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.tmp')).map((name) => path.join(at.home.folder, name));
}

test.each([
  ['a sign-in', ['login', '--quiet']],
  ['a completion', ['completion', 'bash', '--install']],
  ['a search into a file', ['events', 'search', '--json', '--output-file', 'found.json']],
])(
  '%s killed at any operation leaves nothing that an hour and the next run do not remove',
  async (name, args) => {
    if (args[0] === 'events') await at.signIn();
    const whole = await run(args);
    expect(whole.code).toBe(0);
    const operations = whole.operations();
    const random = randomOf(name);
    const rounds = faultRounds(3, operations);
    for (let round = 1; round <= rounds; round++) {
      const killAt = rounds === operations ? round : 1 + random.below(operations);
      await run(args, killAt);
      for (const file of unfinishedFiles()) {
        const then = statSync(file).mtimeMs / 1000 - AGE_SECONDS;
        utimesSync(file, then, then);
      }
      expect((await run(args)).code).toBe(0);
      expect(unfinishedFiles()).toEqual([]);
    }
    noteFaults(name, rounds, rounds);
  },
);
