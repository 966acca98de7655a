import { MISSING } from './field-cursor.ts';
import { memberPath } from './field-path.ts';
import { type Items, OFFSETS_PER_ITEM } from './items.ts';
import { stringText, valueEnd } from './json-scanner.ts';
import { createKnownCursor } from './known-cursor.ts';

/** The fields in the order of `Items.fieldOffsets`. The id shows where the event is inside its item. */
const FIELDS = ['publishStatus', 'createdOn', 'subscriptionId', 'eventId'];
export const RECORD_FIELDS = { outcome: 0, createdOn: 1, subscription: 2 };
const EVENT = 3;

const QUOTE = 0x22;

/** Reads the fields that every question asks for, of one item after another. */
export class RecordFields {
  /** The offsets of each field's value, `MISSING` for one that the item does not have. */
  readonly starts = new Int32Array(EVENT);
  readonly ends = new Int32Array(EVENT);
  /** The offset of the member that is the event; 0 if the item is the event itself. */
  eventAt = 0;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #cursor = createKnownCursor(FIELDS.map(memberPath));

  read(items: Items, item: number): void {
    this.#bytes = items.bytes;
    if (items.fieldOffsets) this.#takeOffsets(items.fieldOffsets, OFFSETS_PER_ITEM * item);
    else this.#findFields(items.start(item));
  }

  /** The characters of a field that is a text; undefined for all else. */
  text(field: number): string | undefined {
    const start = this.starts[field] as number;
    if (start === MISSING || this.#bytes[start] !== QUOTE) return undefined;
    return stringText(this.#bytes, start, this.ends[field] as number);
  }

  /** `from` is the place of the item's first offset. */
  #takeOffsets(offsets: readonly number[], from: number): void {
    for (let field = 0; field < EVENT; field++) {
      const start = offsets[from + field] as number;
      this.starts[field] = start === 0 ? MISSING : start;
      this.ends[field] = start === 0 ? MISSING : valueEnd(this.#bytes, start);
    }
    this.eventAt = offsets[from + EVENT] as number;
  }

  #findFields(at: number): void {
    const cursor = this.#cursor;
    cursor.read(this.#bytes, at);
    for (let field = 0; field < EVENT; field++) {
      this.starts[field] = cursor.starts[field] as number;
      this.ends[field] = cursor.ends[field] as number;
    }
    this.eventAt = cursor.holders === 1 ? cursor.holderStart : 0;
  }
}
