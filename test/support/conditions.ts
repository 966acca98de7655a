import { lookup } from 'node:dns/promises';
import os from 'node:os';
import type { TestContext } from 'vitest';

/**
 * What a container may lack, and a few tests of the source need. Such a test is skipped by name, with the
 * reason; if `CI` is set, a missing condition is a failure.
 */

export const hasIpv6 = Object.values(os.networkInterfaces())
  .flat()
  .some((address) => address?.address === '::1');

/** Fails with another error where nobody is asked. */
async function hasResolver(): Promise<boolean> {
  const code = await lookup('hooktrail.invalid').catch((error) => error.code);
  return code === 'ENOTFOUND';
}

const conditions = {
  IPv6: async () => hasIpv6,
  'a resolver, which knows that a name does not exist': hasResolver,
  'an address besides loopback': async () => addressBesidesLoopback() !== undefined,
} as const;

/** Skips the test if the machine lacks the condition. */
export async function requireCondition(
  { skip }: Pick<TestContext, 'skip'>,
  name: keyof typeof conditions,
): Promise<void> {
  if (await conditions[name]()) return;
  if (process.env['CI']) throw new Error(`not on this machine: ${name}`);
  skip(`this machine lacks ${name}`);
}

/** Returns an address of this machine through which others reach it. */
export function addressBesidesLoopback(): string | undefined {
  return Object.values(os.networkInterfaces())
    .flat()
    .find((address) => address && !address.internal && address.family === 'IPv4')?.address;
}
