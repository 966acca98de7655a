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

/** A method call with the few argument types that the Secret Service check needs. */
export interface MethodCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Strings are sent as `s`, records as `a{ss}`. */
  readonly body?: readonly (string | Readonly<Record<string, string>>)[];
}

export interface Reply {
  /** 2: a result, 3: an error. */
  readonly type: number;
  readonly replyTo: number;
  readonly errorName: string;
  readonly body: readonly unknown[];
}

/** Encodes a method call in the wire format (D-Bus specification, "Message Format"), little-endian. */
export function encodeCall(serial: number, call: MethodCall): Buffer {
  const { body = [] } = call;
  const signature = body.map((value) => (typeof value === 'string' ? 's' : 'a{ss}')).join('');
  const content = new Writer();
  for (const value of body) {
    if (typeof value === 'string') content.string(value);
    else content.map(value);
  }
  const header = new Writer();
  // Little-endian, a method call, no flags, protocol version 1.
  for (const byte of [0x6c, 1, 0, 1]) header.byte(byte);
  header.uint32(content.length);
  header.uint32(serial);
  header.array(8, () => {
    header.field(1, 'o', call.path);
    header.field(2, 's', call.interface);
    header.field(3, 's', call.member);
    header.field(6, 's', call.destination);
    if (signature) header.field(8, 'g', signature);
  });
  header.align(8);
  return Buffer.concat([header.bytes(), content.bytes()]);
}

class Writer {
  readonly #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }
  bytes(): Buffer {
    return Buffer.from(this.#bytes);
  }
  align(size: number): void {
    while (this.#bytes.length % size !== 0) this.#bytes.push(0);
  }
  byte(value: number): void {
    this.#bytes.push(value);
  }
  uint32(value: number): void {
    this.align(4);
    this.#bytes.push(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  }
  string(value: string): void {
    const text = Buffer.from(value);
    this.uint32(text.length);
    this.#bytes.push(...text, 0);
  }
  signature(value: string): void {
    this.#bytes.push(value.length, ...Buffer.from(value), 0);
  }
  /** The length counts from the first element, after the padding in front of it. */
  array(alignment: number, write: () => void): void {
    this.uint32(0);
    const lengthAt = this.#bytes.length - 4;
    this.align(alignment);
    const start = this.#bytes.length;
    write();
    const length = this.#bytes.length - start;
    for (let i = 0; i < 4; i++) this.#bytes[lengthAt + i] = (length >>> (8 * i)) & 255;
  }
  map(value: Readonly<Record<string, string>>): void {
    this.array(8, () => {
      for (const [key, entry] of Object.entries(value)) {
        this.align(8);
        this.string(key);
        this.string(entry);
      }
    });
  }
  field(code: number, type: 'o' | 's' | 'g', value: string): void {
    this.align(8);
    this.byte(code);
    this.signature(type);
    if (type === 'g') this.signature(value);
    else this.string(value);
  }
}

/** Returns the message at the start of the bytes and its length; undefined while it is incomplete. */
export function decodeMessage(bytes: Buffer): { message: Reply; size: number } | undefined {
  if (bytes.length < 16) return undefined;
  const reader = new Reader(bytes, bytes[0] === 0x6c);
  const bodyLength = reader.uint32At(4);
  const fieldsEnd = 16 + reader.uint32At(12);
  const bodyStart = Math.ceil(fieldsEnd / 8) * 8;
  const size = bodyStart + bodyLength;
  if (size > 1 << 20) throw new Error('an oversized D-Bus message');
  if (bytes.length < size) return undefined;
  const fields = new Map<number, unknown>();
  reader.at = 16;
  while (reader.at < fieldsEnd) {
    reader.align(8);
    fields.set(reader.byte(), reader.value('v'));
  }
  const content = new Reader(bytes.subarray(bodyStart, size), bytes[0] === 0x6c);
  const message = {
    type: bytes[1] ?? 0,
    replyTo: Number(fields.get(5) ?? 0),
    errorName: String(fields.get(4) ?? ''),
    body: typesIn(String(fields.get(8) ?? '')).map((type) => content.value(type)),
  };
  return { message, size };
}

/** Reads the leading values of known types; everything after an unknown type is skipped. */
function typesIn(signature: string): string[] {
  return /^(?:a[sob]|[sogubv])*/.exec(signature)?.[0].match(/a?[sogubv]/g) ?? [];
}

class Reader {
  at = 0;
  readonly #bytes: Buffer;
  readonly #little: boolean;

  constructor(bytes: Buffer, little: boolean) {
    this.#bytes = bytes;
    this.#little = little;
  }
  align(size: number): void {
    this.at = Math.ceil(this.at / size) * size;
  }
  byte(): number {
    return this.#bytes.readUInt8(this.at++);
  }
  uint32At(at: number): number {
    return this.#little ? this.#bytes.readUInt32LE(at) : this.#bytes.readUInt32BE(at);
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
    const [array, element] = type;
    if (array !== 'a' || element === undefined) throw new Error(`D-Bus type ${type} is not supported`);
    const end = this.uint32() + this.at;
    const values: unknown[] = [];
    while (this.at < end) values.push(this.value(element));
    return values;
  }
}
