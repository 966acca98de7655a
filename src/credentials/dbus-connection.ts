import { connect, type Socket } from 'node:net';
import { decodeMessage, encodeCall, type MethodCall, type Reply } from './dbus-message.ts';

/** The peer answered a call with an error. */
export class DBusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}

/** The time for the whole conversation is over. */
export class DBusTimeout extends Error {}

/**
 * As much of a D-Bus client as finding out about a service takes: connect, authenticate, call, wait for the answer.
 * The npm libraries for it are unmaintained or bring an XML parser and a binding generator; a probe that every command
 * runs before it touches the keychain has to load in a millisecond.
 */
export class DBusConnection {
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  #received = Buffer.alloc(0);
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #serial = 0;

  private constructor(socket: Socket, limit: number) {
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#fail(new DBusTimeout('no answer in time')), limit);
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the bus closed the connection')));
  }

  /** `limit`: milliseconds for the whole life of the connection. Throws what the socket throws, or `DBusTimeout`. */
  static async open(socketPath: string, userId: number, limit: number): Promise<DBusConnection> {
    const bus = new DBusConnection(connect(socketPath), limit);
    try {
      await bus.#authenticate(userId);
      await bus.call({ ...BUS, member: 'Hello' });
      return bus;
    } catch (error) {
      bus.close();
      throw error;
    }
  }

  /** Throws `DBusError` with the peer's error. */
  async call(call: MethodCall): Promise<readonly unknown[]> {
    const serial = ++this.#serial;
    this.#socket.write(encodeCall(serial, call));
    const reply = await this.#reply(serial);
    if (reply.type === 3) throw new DBusError(reply.errorName, String(reply.body[0] ?? reply.errorName));
    return reply.body;
  }

  close(): void {
    this.#fail(new Error('closed'));
  }

  /** D-Bus specification, "Authentication Protocol": EXTERNAL, the kernel vouches for the user id. */
  async #authenticate(userId: number): Promise<void> {
    this.#socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(userId)).toString('hex')}\r\n`);
    const line = await this.#next(() => {
      const end = this.#received.indexOf('\r\n');
      return end < 0 ? undefined : { value: this.#received.toString('latin1', 0, end), size: end + 2 };
    });
    if (!line.startsWith('OK ')) throw new DBusError('org.freedesktop.DBus.Error.AuthFailed', line);
    this.#socket.write('BEGIN\r\n');
  }

  async #reply(serial: number): Promise<Reply> {
    for (;;) {
      const message = await this.#next(() => {
        const decoded = decodeMessage(this.#received);
        return decoded && { value: decoded.message, size: decoded.size };
      });
      // Signals and answers to nothing of ours pass by.
      if (message.replyTo === serial) return message;
    }
  }

  async #next<T>(parse: () => { value: T; size: number } | undefined): Promise<T> {
    for (;;) {
      const found = parse();
      if (found) {
        this.#received = this.#received.subarray(found.size);
        return found.value;
      }
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#wake?.();
  }
}

const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;
