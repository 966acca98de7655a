import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const taken = new Set<number>();

/**
 * Returns a free port of the loopback address, below those that the system assigns to programs that ask for
 * any port (Linux: from 32768, RFC 6335: from 49152), so that it stays free until the test uses it. It is not
 * drawn from the seed, so that parallel tests get other ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
