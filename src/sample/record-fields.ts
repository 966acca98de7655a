import { MISSING } from '../items/field-cursor.ts';
import { memberPath } from '../items/field-path.ts';
import { type Items, OFFSETS_PER_ITEM } from '../items/items.ts';
import { QUOTE, stringText, valueEnd } from '../items/json-scanner.ts';
import { createKnownCursor } from '../items/known-fields.ts';

/** In the order of `Items.fieldOffsets`. The id reveals which member is the event. */
const FIELDS = ['publishStatus', 'createdOn', 'subscriptionId', 'eventId'];
export const RECORD_FIELDS = { outcome: 0, createdOn: 1, subscription: 2 };
const EVENT = 3;

export class RecordFields {
  readonly starts = new Int32Array(EVENT);
  readonly ends = new Int32Array(EVENT);
  eventAt = 0;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #cursor = createKnownCursor(FIELDS.map(memberPath));

  read(items: Items, item: number): void {
    this.#bytes = items.bytes;
    if (items.fieldOffsets) this.#takeOffsets(items.fieldOffsets, OFFSETS_PER_ITEM * item);
    else this.#findFields(items.start(item));
  }

  text(field: number): string | undefined {
    const start = this.starts[field] as number;
    if (start === MISSING || this.#bytes[start] !== QUOTE) return undefined;
    return stringText(this.#bytes, start, this.ends[field] as number);
  }

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
    this.eventAt = cursor.eventStart === at ? 0 : cursor.eventStart;
  }
}
