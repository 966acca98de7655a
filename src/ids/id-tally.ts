import { pastedGuid } from '../items/guids.ts';
import { EventKeys, eventKey, isHexDigit, readGuid } from './event-keys.ts';

/** Counts event ids by their keys. */
export class IdTally {
  readonly keys = new EventKeys();
  readonly #isAnyTextId: boolean;
  readonly #words = new Uint32Array(4);

  /** `isAnyTextId`: cells without a GUID are ids too, as in a column that the user named. */
  constructor(isAnyTextId: boolean) {
    this.#isAnyTextId = isAnyTextId;
  }

  /** Counts the GUIDs that begin after the first byte and before `end`. Returns the offset after them. */
  addText(bytes: Buffer, end: number): number {
    let at = 1;
    while (at < end) {
      const isStart = isHexDigit(bytes[at] as number) && !isWord(bytes[at - 1]);
      const after = isStart ? readGuid(bytes, at, bytes.length, this.#words) : undefined;
      if (after !== undefined && !isWord(bytes[after])) {
        this.keys.count(this.#words);
        at = after;
      } else at++;
    }
    return at;
  }

  addCell(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end && !isWord(bytes[at])) at++;
    const after = readGuid(bytes, at, end, this.#words);
    if (after === undefined || isWord(bytes[after]) || (after < end && this.#isAnyTextId))
      this.addTextCell(bytes.toString('utf8', start, end));
    else this.keys.count(this.#words);
  }

  /** Like `addCell`, for text. */
  addTextCell(text: string): void {
    const bare = text
      .trim()
      .replace(/^"(.*)"$/s, '$1')
      .trim();
    const guid = pastedGuid(bare);
    if (guid === undefined && (!this.#isAnyTextId || bare === '')) return;
    this.keys.count(eventKey(guid ?? bare));
  }
}

function isWord(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}
