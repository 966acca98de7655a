import { promises as files } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import type { Context } from '../context.ts';

export class DBusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}

export class DBusTimeout extends Error {}

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

export type DBus = NonNullable<Awaited<ReturnType<typeof openDBus>>>;

/**
 * A minimal D-Bus client: connect, authenticate, call, wait for the answer. Every command checks the service
 * before it uses the keychain, so this has to load in a millisecond; the npm libraries are unmaintained, or
 * bring an XML parser and a binding generator.
 *
 * `limitMs` applies to the whole connection. Returns undefined if only the native library can reach the bus.
 * Throws the socket's error, `DBusError` if the bus refuses the connection, or `DBusTimeout`.
 */
export async function openDBus(socketPath: string, userId: number, limitMs: number) {
  const socket = connect(socketPath);
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  const timer = setTimeout(() => socket.destroy(new DBusTimeout('no answer in time')), limitMs);
  let received = Buffer.alloc(0);
  let serial = 0;

  const receive = async <Value>(
    decode: (bytes: Buffer) => { value: Value; size: number } | undefined,
  ): Promise<Value> => {
    for (;;) {
      const found = decode(received);
      if (found) {
        received = received.subarray(found.size);
        return found.value;
      }
      const { value: chunk, done } = await chunks.next();
      if (done) throw new Error('the bus closed the connection');
      received = Buffer.concat([received, chunk]);
    }
  };
  const send = (call: MethodCall) => {
    socket.write(encodeCall(++serial, call));
    return serial;
  };
  const replyTo = async (sent: number) => {
    let reply: Reply;
    do reply = await receive(decodeReply);
    while (reply.replyTo !== sent);
    if (reply.isError) throw new DBusError(reply.errorName, String(reply.body[0] ?? reply.errorName));
    return reply.body;
  };
  const close = () => {
    clearTimeout(timer);
    socket.destroy();
  };
  try {
    // D-Bus specification, "Authentication Protocol": with EXTERNAL, the kernel vouches for the user id.
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(userId)).toString('hex')}\r\nBEGIN\r\n`);
    // Do not wait for the answer to `AUTH`, like systemd's client.
    const hello = send({ ...BUS, member: 'Hello' });
    const line = await receive((bytes) => {
      const end = bytes.indexOf('\r\n');
      return end < 0 ? undefined : { value: bytes.toString('latin1', 0, end), size: end + 2 };
    });
    if (!line.startsWith('OK ')) throw new DBusError('org.freedesktop.DBus.Error.AuthFailed', line);
    await replyTo(hello);
  } catch (error) {
    close();
    const isReached = error instanceof DBusError || error instanceof DBusTimeout;
    // Node 20 pads abstract names with NULs and therefore cannot connect; the native library can.
    if (!isReached && socketPath.startsWith('\0')) return undefined;
    throw error;
  }
  return {
    /** Allows one call at a time. Throws `DBusError` with the peer's error. */
    call: async (call: MethodCall) => await replyTo(send(call)),
    close,
  };
}

/**
 * Returns the session bus that libsecret would use: a path for `net.connect` (a leading NUL means Linux'
 * abstract namespace), `absent` if there is none, `other` for an address that only the native library
 * supports.
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
  // Like GLib, use the bus of systemd only if the user owns it.
  const folder = environment['XDG_RUNTIME_DIR'];
  if (!folder) return 'absent';
  const socket = path.join(folder, 'bus');
  return (await hasOwnSocket(socket, machine.userId)) ? { socket } : 'absent';
}

export async function hasOwnSocket(file: string, userId: number): Promise<boolean> {
  const found = await files.lstat(file).catch(() => undefined);
  return found?.isSocket() === true && found.uid === userId;
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

type Value = string | number | boolean | readonly Value[];

/**
 * The fixed members of a message's header, then its fields by code (D-Bus specification, "Message Format").
 */
const HEADER = 'yyyyuua(yv)';
const PATH = 1;
const INTERFACE = 2;
const MEMBER = 3;
const ERROR_NAME = 4;
const REPLY_SERIAL = 5;
const DESTINATION = 6;
const SIGNATURE = 8;
const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const ERROR = 3;
const VERSION = 1;

/** Always little-endian, as are all machines with a native library. */
function encodeCall(serial: number, call: MethodCall): Buffer {
  const { body = [] } = call;
  const types = body.map((value) => (typeof value === 'string' ? 's' : 'a{ss}'));
  const content = new Writer();
  for (const [index, value] of body.entries())
    content.write(types[index] as string, typeof value === 'string' ? value : Object.entries(value));
  const fields: Value = [
    [PATH, ['o', call.path]],
    [INTERFACE, ['s', call.interface]],
    [MEMBER, ['s', call.member]],
    [DESTINATION, ['s', call.destination]],
    [SIGNATURE, ['g', types.join('')]],
  ];
  const header = new Writer();
  const members = [LITTLE_ENDIAN, METHOD_CALL, 0, VERSION, content.bytes.length, serial, fields];
  for (const [index, type] of typesIn(HEADER).entries()) header.write(type, members[index] as Value);
  header.align(8);
  return Buffer.from([...header.bytes, ...content.bytes]);
}

interface Reply {
  readonly isError: boolean;
  readonly replyTo: number;
  readonly errorName: string;
  readonly body: readonly unknown[];
}

const LARGEST_REPLY_BYTES = 1 << 20;

function decodeReply(bytes: Buffer): { value: Reply; size: number } | undefined {
  if (bytes.length < 16) return undefined;
  const bodyStart = Math.ceil((16 + bytes.readUInt32LE(12)) / 8) * 8;
  const size = bodyStart + bytes.readUInt32LE(4);
  if (size > LARGEST_REPLY_BYTES) throw new Error('an oversized D-Bus message');
  if (bytes.length < size) return undefined;
  const reader = new Reader(bytes);
  const [, type, , , , , fields] = typesIn(HEADER).map((each) => reader.read(each));
  const field = new Map(fields as [number, Value][]);
  reader.at = bodyStart;
  // Values after an unsupported type are ignored.
  const [known] = /^(?:a[sob]|a\{ss\}|[sogubv])*/.exec(String(field.get(SIGNATURE) ?? '')) ?? [];
  const value = {
    isError: type === ERROR,
    replyTo: Number(field.get(REPLY_SERIAL) ?? 0),
    errorName: String(field.get(ERROR_NAME) ?? ''),
    body: typesIn(known ?? '').map((each) => reader.read(each)),
  };
  return { value, size };
}

function typesIn(signature: string): string[] {
  return signature.match(/a*(?:\([a-z]+\)|\{[a-z]+\}|[a-z])/g) ?? [];
}

function alignmentOf(type: string): number {
  if (/^[({]/.test(type)) return 8;
  return /^[ygv]/.test(type) ? 1 : 4;
}

class Writer {
  readonly bytes: number[] = [];

  align(size: number): void {
    while (this.bytes.length % size !== 0) this.bytes.push(0);
  }

  write(type: string, value: Value): void {
    const values = value as readonly Value[];
    this.align(alignmentOf(type));
    if (type === 'y') this.bytes.push(Number(value));
    else if (type === 'u') {
      const number = Number(value);
      this.bytes.push(number & 255, (number >>> 8) & 255, (number >>> 16) & 255, number >>> 24);
    } else if (type === 's' || type === 'o' || type === 'g') {
      const text = Buffer.from(String(value));
      this.write(type === 'g' ? 'y' : 'u', text.length);
      this.bytes.push(...text, 0);
    } else if (type === 'v') {
      this.write('g', values[0] as string);
      this.write(values[0] as string, values[1] as Value);
    } else if (type.startsWith('a')) {
      // The length excludes the padding before the first element.
      const elements = new Writer();
      for (const element of values) elements.write(type.slice(1), element);
      this.write('u', elements.bytes.length);
      this.align(alignmentOf(type.slice(1)));
      this.bytes.push(...elements.bytes);
    } else
      for (const [index, member] of typesIn(type.slice(1, -1)).entries())
        this.write(member, values[index] as Value);
  }
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

  read(type: string): Value {
    this.align(alignmentOf(type));
    if (type === 'y') return this.#bytes.readUInt8(this.at++);
    if (type === 'u') {
      this.at += 4;
      return this.#bytes.readUInt32LE(this.at - 4);
    }
    if (type === 'b') return this.read('u') !== 0;
    if (type === 's' || type === 'o' || type === 'g') {
      const length = Number(this.read(type === 'g' ? 'y' : 'u'));
      this.at += length + 1;
      return this.#bytes.toString('utf8', this.at - length - 1, this.at - 1);
    }
    if (type === 'v') return this.read(String(this.read('g')));
    if (!/^[a({]./.test(type)) throw new Error(`D-Bus type ${type} is not supported`);
    if (!type.startsWith('a')) return typesIn(type.slice(1, -1)).map((member) => this.read(member));
    const size = Number(this.read('u'));
    this.align(alignmentOf(type.slice(1)));
    const end = this.at + size;
    const elements: Value[] = [];
    while (this.at < end) elements.push(this.read(type.slice(1)));
    return elements;
  }
}
