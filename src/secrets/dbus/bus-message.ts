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
