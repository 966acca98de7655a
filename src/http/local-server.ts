import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/**
 * Bytes of a request's headers; Node's own limit is 16 KiB. A browser sends the cookies of all servers on
 * 127.0.0.1 to each of them, since cookies do not depend on the port.
 */
export const HEADER_LIMIT_BYTES = 64 * 1024;

/**
 * Listens on each address of the host, with servers made by `create`: `localhost` means both loopback
 * addresses, if the machine has them. Rejects with the system's error if one cannot be bound.
 */
export async function listenOnHost(
  { host, port, backlog }: { readonly host: string; readonly port: number; readonly backlog?: number },
  create: () => Server,
): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  const servers: Server[] = [];
  let bound = port;
  for (const address of addressesOf(host)) {
    const server = create();
    try {
      server.listen({ host: address, port: bound, ...(backlog === undefined ? {} : { backlog }) });
      // If 'error' is emitted instead, `once` rejects.
      await once(server, 'listening');
    } catch (error) {
      // A machine without IPv6: no other program can listen there either.
      const isAbsent = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(
        String((error as NodeJS.ErrnoException).code),
      );
      if (isAbsent && servers.length > 0) continue;
      for (const other of servers) other.close();
      throw error;
    }
    servers.push(server);
    bound = (server.address() as AddressInfo).port;
  }
  return { servers, port: bound };
}

/**
 * `localhost` may resolve to either address family, and a program with the port on the other one would get
 * the requests.
 */
function addressesOf(host: string): string[] {
  return /^(?:.*\.)?localhost\.?$/i.test(host) ? ['127.0.0.1', '::1'] : [host];
}

/** Answers a request that the parser refused. `onOverflow`: called if its headers are too long. */
export function refuseUnreadable(server: Server, onOverflow: () => void): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const isOverflow = error.code === 'HPE_HEADER_OVERFLOW';
    if (isOverflow) onOverflow();
    const status = isOverflow ? '431 Request Header Fields Too Large' : '400 Bad Request';
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    else socket.destroy();
  });
}
