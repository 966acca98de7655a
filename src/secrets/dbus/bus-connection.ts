import { promises as files } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { decodeMessage, encodeCall, type MethodCall, type Reply } from './bus-message.ts';

/** The peer answered a call with an error. */
export class DBusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}

/** The whole conversation took too long. */
export class DBusTimeout extends Error {}

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/**
 * A minimal D-Bus client, enough to check a service: connect, authenticate, call, wait for the answers. Every command
 * runs this check before it uses the keychain, so it has to load in a millisecond; the npm libraries are unmaintained,
 * or bring an XML parser and a binding generator.
 */
export class DBusConnection {
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Map<number, Waiting>();
  #received = Buffer.alloc(0);
  #isAuthenticated = false;
  #failure: Error | undefined;
  #serial = 0;

  private constructor(socket: Socket, limit: number) {
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#fail(new DBusTimeout('no answer in time')), limit);
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      try {
        this.#read();
      } catch (error) {
        this.#fail(error as Error);
      }
    });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the bus closed the connection')));
  }

  /**
   * Connects and greets the bus, and makes the `first` call in the same round trip. `limit`: milliseconds for the whole
   * life of the connection. Throws the socket's error, `DBusError` if the bus refuses the connection, or `DBusTimeout`.
   * Errors of the call are thrown when its result is awaited.
   */
  static async open(socketPath: string, userId: number, limit: number, first: MethodCall) {
    const bus = new DBusConnection(connect(socketPath), limit);
    bus.#socket.cork();
    // D-Bus specification, "Authentication Protocol": with EXTERNAL, the kernel vouches for the user id.
    bus.#socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(userId)).toString('hex')}\r\nBEGIN\r\n`);
    const hello = bus.call({ ...BUS, member: 'Hello' });
    const result = bus.call(first);
    bus.#socket.uncork();
    result.catch(() => undefined);
    try {
      await hello;
      return { bus, result };
    } catch (error) {
      bus.close();
      throw error;
    }
  }

  /** Throws `DBusError` with the peer's error. */
  async call(call: MethodCall): Promise<readonly unknown[]> {
    if (this.#failure) throw this.#failure;
    const serial = ++this.#serial;
    const reply = await new Promise<Reply>((resolve, reject) => {
      this.#waiting.set(serial, { resolve, reject });
      this.#socket.write(encodeCall(serial, call));
    });
    if (reply.type === 3) throw new DBusError(reply.errorName, String(reply.body[0] ?? reply.errorName));
    return reply.body;
  }

  close(): void {
    this.#fail(new Error('closed'));
  }

  #read(): void {
    if (!this.#isAuthenticated) {
      const end = this.#received.indexOf('\r\n');
      if (end < 0) return;
      const line = this.#received.toString('latin1', 0, end);
      if (!line.startsWith('OK ')) throw new DBusError('org.freedesktop.DBus.Error.AuthFailed', line);
      this.#isAuthenticated = true;
      this.#received = this.#received.subarray(end + 2);
    }
    for (;;) {
      const decoded = decodeMessage(this.#received);
      if (!decoded) return;
      this.#received = this.#received.subarray(decoded.size);
      // Signals and answers to other calls are ignored.
      this.#waiting.get(decoded.message.replyTo)?.resolve(decoded.message);
      this.#waiting.delete(decoded.message.replyTo);
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    clearTimeout(this.#timer);
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;

/**
 * Returns the address at which libsecret looks for the session bus: a path for `net.connect` (a leading NUL means
 * Linux' abstract namespace), `absent` if there is none, `other` for an address that only the native library supports.
 */
export async function sessionBus({
  environment,
  machine,
}: Pick<Context, 'environment' | 'machine'>): Promise<{ socket: string } | 'absent' | 'other'> {
  const address = environment['DBUS_SESSION_BUS_ADDRESS'];
  if (address) return parseAddress(address) ?? 'other';
  // As GLib does: the bus of systemd, but only if the user owns it.
  const folder = environment['XDG_RUNTIME_DIR'];
  if (!folder) return 'absent';
  const socket = path.join(folder, 'bus');
  const found = await files.lstat(socket).catch(() => undefined);
  return found?.isSocket() && found.uid === machine.userId ? { socket } : 'absent';
}

/**
 * D-Bus specification, "Server Addresses": alternatives are separated by `;`, values escaped with `%`. Returns the
 * first that can be used.
 */
function parseAddress(address: string): { socket: string } | undefined {
  for (const alternative of address.split(';')) {
    const [, transport, list = ''] = /^([^:]+):(.*)$/.exec(alternative) ?? [];
    if (transport !== 'unix') continue;
    for (const pair of list.split(',')) {
      const [key, ...rest] = pair.split('=');
      const value = unescaped(rest.join('='));
      if (key === 'path') return { socket: value };
      if (key === 'abstract') return { socket: `\0${value}` };
    }
  }
  return undefined;
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
