import { promises as files } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import type { Context } from '../context.ts';

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

/** A method call with the few argument types that the Secret Service check needs. */
export interface MethodCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Strings are sent as `s`, records as `a{ss}`. */
  readonly body?: readonly (string | Readonly<Record<string, string>>)[];
}

export const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;

/**
 * A minimal D-Bus client, enough to check a service: connect, authenticate, call, wait for the answer. Every command
 * runs this check before it uses the keychain, so it has to load in a millisecond; the npm libraries are unmaintained,
 * or bring an XML parser and a binding generator.
 */
export class DBusConnection {
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #timer: NodeJS.Timeout;
  #received = Buffer.alloc(0);
  #serial = 0;

  private constructor(socket: Socket, limitMs: number) {
    this.#socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]();
    this.#timer = setTimeout(() => socket.destroy(new DBusTimeout('no answer in time')), limitMs);
  }

  /**
   * Connects and greets the bus. `limitMs` is for the whole life of the connection. Throws the socket's error,
   * `DBusError` if the bus refuses the connection, or `DBusTimeout`.
   */
  static async open(socketPath: string, userId: number, limitMs: number): Promise<DBusConnection> {
    const bus = new DBusConnection(connect(socketPath), limitMs);
    try {
      // D-Bus specification, "Authentication Protocol": with EXTERNAL, the kernel vouches for the user id.
      const identity = Buffer.from(String(userId)).toString('hex');
      bus.#socket.write(`\0AUTH EXTERNAL ${identity}\r\nBEGIN\r\n`);
      // As systemd's client does, the greeting does not wait for the answer to `AUTH`.
      const hello = bus.#send({ ...BUS, member: 'Hello' });
      const line = await bus.#receive((bytes) => {
        const end = bytes.indexOf('\r\n');
        return end < 0 ? undefined : { value: bytes.toString('latin1', 0, end), size: end + 2 };
      });
      if (!line.startsWith('OK ')) throw new DBusError('org.freedesktop.DBus.Error.AuthFailed', line);
      await bus.#replyTo(hello);
      return bus;
    } catch (error) {
      bus.close();
      throw error;
    }
  }

  /** Calls a method, one at a time. Throws `DBusError` with the peer's error. */
  async call(call: MethodCall): Promise<readonly unknown[]> {
    return await this.#replyTo(this.#send(call));
  }

  #send(call: MethodCall): number {
    const serial = ++this.#serial;
    this.#socket.write(encodeCall(serial, call));
    return serial;
  }

  async #replyTo(serial: number): Promise<readonly unknown[]> {
    let reply: Reply;
    // Signals are ignored.
    do reply = await this.#receive(decodeReply);
    while (reply.replyTo !== serial);
    if (reply.isError) throw new DBusError(reply.errorName, String(reply.body[0] ?? reply.errorName));
    return reply.body;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  /** Takes what `decode` finds at the start of the stream, as soon as it is there whole. */
  async #receive<Value>(
    decode: (bytes: Buffer) => { value: Value; size: number } | undefined,
  ): Promise<Value> {
    for (;;) {
      const found = decode(this.#received);
      if (found) {
        this.#received = this.#received.subarray(found.size);
        return found.value;
      }
      const { value: chunk, done } = await this.#chunks.next();
      if (done) throw new Error('the bus closed the connection');
      this.#received = Buffer.concat([this.#received, chunk]);
    }
  }
}

/**
 * Returns the address at which libsecret looks for the session bus: a path for `net.connect` (a leading NUL means
 * Linux' abstract namespace), `absent` if there is none, `other` for an address that only the native library supports.
 */
export async function sessionBus({
  environment,
  machine,
}: Pick<Context, 'environment' | 'machine'>): Promise<{ socket: string } | 'absent' | 'other'> {
  const address = environment['DBUS_SESSION_BUS_ADDRESS'];
  if (address) {
    // D-Bus specification, "Server Addresses": alternatives are separated by `;`, values escaped with `%`.
    const [, kind, value = ''] = /(?:^|;)unix:(?:[^;]*,)?(path|abstract)=([^,;]*)/.exec(address) ?? [];
    if (kind === undefined) return 'other';
    return { socket: (kind === 'abstract' ? '\0' : '') + unescaped(value) };
  }
  // As GLib does: the bus of systemd, but only if the user owns it.
  const folder = environment['XDG_RUNTIME_DIR'];
  if (!folder) return 'absent';
  const socket = path.join(folder, 'bus');
  const found = await files.lstat(socket).catch(() => undefined);
  return found?.isSocket() && found.uid === machine.userId ? { socket } : 'absent';
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Encodes a method call in the wire format (D-Bus specification, "Message Format"), little-endian. */
function encodeCall(serial: number, call: MethodCall): Buffer {
  const { body = [] } = call;
  const content = new Writer();
  for (const value of body) {
    if (typeof value === 'string') content.string(value);
    else
      content.structs(
        Object.entries(value).map((pair) => (entry) => void pair.map((text) => entry.string(text))),
      );
  }
  const signature = body.map((value) => (typeof value === 'string' ? 's' : 'a{ss}')).join('');
  const fields = [
    [1, 'o', call.path],
    [2, 's', call.interface],
    [3, 's', call.member],
    [6, 's', call.destination],
    [8, 'g', signature],
  ] as const;
  const header = new Writer();
  // Little-endian, a method call, no flags, protocol version 1.
  header.bytes.push(0x6c, 1, 0, 1);
  header.uint32(content.bytes.length);
  header.uint32(serial);
  header.structs(
    fields.map(([code, type, text]) => (field) => {
      field.bytes.push(code);
      field.signature(type);
      if (type === 'g') field.signature(text);
      else field.string(text);
    }),
  );
  header.align(8);
  return Buffer.from([...header.bytes, ...content.bytes]);
}

class Writer {
  readonly bytes: number[] = [];

  align(size: number): void {
    while (this.bytes.length % size !== 0) this.bytes.push(0);
  }
  uint32(value: number): void {
    this.align(4);
    this.bytes.push(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  }
  string(value: string): void {
    const text = Buffer.from(value);
    this.uint32(text.length);
    this.bytes.push(...text, 0);
  }
  signature(value: string): void {
    this.bytes.push(value.length, ...Buffer.from(value), 0);
  }
  /** An array of structures or dictionary entries. Its length does not count the padding in front of the first. */
  structs(writes: readonly ((struct: Writer) => void)[]): void {
    const content = new Writer();
    for (const write of writes) {
      content.align(8);
      write(content);
    }
    this.uint32(content.bytes.length);
    this.align(8);
    this.bytes.push(...content.bytes);
  }
}

interface Reply {
  readonly isError: boolean;
  readonly replyTo: number;
  readonly errorName: string;
  readonly body: readonly unknown[];
}

/** Returns the message at the start of the bytes and its length; undefined while it is incomplete. */
function decodeReply(bytes: Buffer): { value: Reply; size: number } | undefined {
  if (bytes.length < 16) return undefined;
  const reader = new Reader(bytes);
  const fieldsEnd = 16 + reader.uint32At(12);
  const bodyStart = Math.ceil(fieldsEnd / 8) * 8;
  const size = bodyStart + reader.uint32At(4);
  if (size > 1 << 20) throw new Error('an oversized D-Bus message');
  if (bytes.length < size) return undefined;
  const fields = new Map<number, unknown>();
  for (reader.at = 16; reader.at < fieldsEnd; ) {
    reader.align(8);
    fields.set(reader.byte(), reader.value('v'));
  }
  reader.at = bodyStart;
  // Values behind a type that is not known here are left out.
  const types = /^(?:a[sob]|[sogubv])*/.exec(String(fields.get(8) ?? ''))?.[0].match(/a?[sogubv]/g) ?? [];
  const value = {
    isError: bytes[1] === 3,
    replyTo: Number(fields.get(5) ?? 0),
    errorName: String(fields.get(4) ?? ''),
    body: types.map((type) => reader.value(type)),
  };
  return { value, size };
}

class Reader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  align(size: number): void {
    this.at = Math.ceil(this.at / size) * size;
  }
  byte(): number {
    return this.#bytes.readUInt8(this.at++);
  }
  uint32At(at: number): number {
    return this.#bytes[0] === 0x6c ? this.#bytes.readUInt32LE(at) : this.#bytes.readUInt32BE(at);
  }
  uint32(): number {
    this.align(4);
    this.at += 4;
    return this.uint32At(this.at - 4);
  }
  text(length: number): string {
    this.at += length + 1;
    return this.#bytes.toString('utf8', this.at - length - 1, this.at - 1);
  }
  value(type: string): unknown {
    if (type === 'u') return this.uint32();
    if (type === 'b') return this.uint32() !== 0;
    if (type === 'g') return this.text(this.byte());
    if (type === 's' || type === 'o') return this.text(this.uint32());
    if (type === 'v') return this.value(this.text(this.byte()));
    if (type === 'a{ss}') return this.record();
    const [array, element] = type;
    if (array !== 'a' || element === undefined) throw new Error(`D-Bus type ${type} is not supported`);
    const end = this.uint32() + this.at;
    const values: unknown[] = [];
    while (this.at < end) values.push(this.value(element));
    return values;
  }
  record(): Record<string, string> {
    const size = this.uint32();
    this.align(8);
    const end = this.at + size;
    const record: Record<string, string> = {};
    while (this.at < end) {
      this.align(8);
      const key = this.text(this.uint32());
      record[key] = this.text(this.uint32());
    }
    return record;
  }
}
