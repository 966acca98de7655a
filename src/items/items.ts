export type ListKind = 'events' | 'event-types' | 'subscriptions';

/** The place in a file at which a page's bytes begin. */
export interface FileOrigin {
  readonly file: string;
  readonly offset: number;
}

/**
 * Valid JSON values (UTF-8) without white space between tokens, in order in `bytes` with at least one byte
 * between them. Immutable.
 */
export class Items {
  readonly bytes: Buffer;
  readonly count: number;
  /** Two offsets per item: of its first byte and after its last. */
  readonly spans: ArrayLike<number>;
  /**
   * Four offsets per item: the values of `publishStatus`, `createdOn` and `subscriptionId`, and the member
   * that is the event; 0 if missing. Undefined if not located yet.
   */
  readonly fieldOffsets: readonly number[] | undefined;
  /** Undefined if `bytes` are not a part of a file as they are. */
  readonly origin: FileOrigin | undefined;

  constructor(
    bytes: Buffer,
    spans: ArrayLike<number>,
    fieldOffsets?: readonly number[] | undefined,
    origin?: FileOrigin | undefined,
  ) {
    this.bytes = bytes;
    this.count = spans.length / 2;
    this.spans = spans;
    this.fieldOffsets = fieldOffsets;
    this.origin = origin;
  }

  static of(texts: readonly Buffer[]): Items {
    const spans: number[] = [];
    let at = 0;
    for (const text of texts) {
      spans.push(at, at + text.length);
      at += text.length + 1;
    }
    return new Items(Buffer.concat(texts.flatMap((text) => [text, COMMA])), spans);
  }

  start(index: number): number {
    return this.spans[2 * index] as number;
  }

  end(index: number): number {
    return this.spans[2 * index + 1] as number;
  }

  /** Shares memory with the page. */
  text(index: number): Buffer {
    return this.bytes.subarray(this.start(index), this.end(index));
  }

  texts(): Buffer[] {
    return Array.from({ length: this.count }, (_, index) => this.text(index));
  }

  /** Takes ascending indexes. Shares memory with the page. */
  pick(indexes: readonly number[]): this {
    const { fieldOffsets } = this;
    const spans = indexes.flatMap((index) => [this.start(index), this.end(index)]);
    const offsets = fieldOffsets && indexes.flatMap((index) => offsetsOfItem(fieldOffsets, index));
    return new Items(this.bytes, spans, offsets, this.origin) as this;
  }

  first(limit: number): this {
    return this.count <= limit ? this : this.pick([...Array(limit).keys()]);
  }

  /** Numbers may lose digits. */
  *values(): Generator<unknown> {
    for (let index = 0; index < this.count; index++)
      yield JSON.parse(this.bytes.toString('utf8', this.start(index), this.end(index)));
  }

  /** Copies; each item is followed by a line feed. */
  toLines(): Buffer {
    return this.joined('', '\n', this.count > 0 ? '\n' : '');
  }

  /** Copies; the separators must be ASCII. */
  joined(before: string, between: string, after: string): Buffer {
    const { bytes, count } = this;
    let length = before.length + count * between.length + after.length;
    for (let index = 0; index < count; index++) length += this.end(index) - this.start(index);
    const text = Buffer.allocUnsafe(length);
    let to = text.write(before, 'latin1');
    for (let index = 0; index < count; index++) {
      for (let at = 0; index > 0 && at < between.length; at++) text[to++] = between.charCodeAt(at);
      to += bytes.copy(text, to, this.start(index), this.end(index));
    }
    return text.subarray(0, to + text.write(after, to, 'latin1'));
  }

  /** Copies without white space between tokens, separated by single commas. */
  compacted(): Items {
    const { bytes, count } = this;
    const target = Buffer.allocUnsafe(this.end(count - 1) - this.start(0));
    const spans = new Uint32Array(2 * count);
    let to = 0;
    for (let index = 0; index < count; index++) {
      if (index > 0) target[to++] = 0x2c;
      spans[2 * index] = to;
      to = copyCompactly(bytes, this.start(index), this.end(index), target, to);
      spans[2 * index + 1] = to;
    }
    return new Items(target.subarray(0, to), spans);
  }
}

/** Items with keys, which show that an item is there twice. */
export class KeyedItems extends Items {
  /** A 53-bit hash per item; NaN for an item without a key. */
  readonly keys: Float64Array;
  /** True if several members of an item could be the event, which makes its known fields ambiguous. */
  readonly hasDoubtful: boolean;

  constructor({ bytes, spans, fieldOffsets, origin }: Items, keys: Float64Array, hasDoubtful: boolean) {
    super(bytes, spans, fieldOffsets, origin);
    this.keys = keys;
    this.hasDoubtful = hasDoubtful;
  }

  override pick(indexes: readonly number[]): this {
    const keys = Float64Array.from(indexes, (index) => this.keys[index] as number);
    return new KeyedItems(super.pick(indexes), keys, this.hasDoubtful) as this;
  }

  without(known: ReadonlySet<number>): this {
    const kept: number[] = [];
    for (let index = 0; index < this.count; index++)
      if (!known.has(this.keys[index] as number)) kept.push(index);
    return kept.length === this.count ? this : this.pick(kept);
  }
}

export const OFFSETS_PER_ITEM = 4;

function offsetsOfItem(offsets: readonly number[], item: number): number[] {
  const first = OFFSETS_PER_ITEM * item;
  return offsets.slice(first, first + OFFSETS_PER_ITEM);
}

/** Looks at strings only, not at members: white space outside them is left out. */
function copyCompactly(bytes: Buffer, start: number, end: number, target: Buffer, at: number): number {
  let to = at;
  let quoted = false;
  for (let from = start; from < end; from++) {
    const byte = bytes[from] as number;
    if (!quoted && byte <= 0x20) continue;
    target[to++] = byte;
    if (byte === 0x22) quoted = !quoted;
    else if (quoted && byte === 0x5c) target[to++] = bytes[++from] as number;
  }
  return to;
}

const COMMA = Buffer.from(',');

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
