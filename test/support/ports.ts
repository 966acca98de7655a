import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const taken = new Set<number>();

/**
 * Returns a free port of the loopback address, below those that the system assigns to programs that ask for any port
 * (Linux: from 32768, RFC 6335: from 49152), so that it stays free until the test uses it. It is not drawn from the
 * seed, so that parallel tests get other ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const failed = once(server, 'error').then(() => false);
  const listening = once(server.listen(port, '127.0.0.1'), 'listening').then(() => true);
  // Of the two events, only the first counts.
  for (const outcome of [failed, listening]) outcome.catch(() => undefined);
  if (!(await Promise.race([failed, listening]))) return false;
  server.close();
  await once(server, 'close');
  return true;
}
