import { MISSING } from '../items/field-cursor.ts';
import { memberPath, parseFieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import type { KeepItems } from '../items/item-filter.ts';
import type { Items } from '../items/items.ts';
import { startsWith, valueText } from '../items/json-scanner.ts';
import { createKnownCursor } from '../items/known-fields.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { UTC } from '../time/time-zone.ts';

/** Path, within an event, of the marketplaces that it belongs to. */
const MARKETPLACE_IDS = 'headers.marketplaceIds';

/** Most ids named in a warning or a notice. */
const MAX_NAMED = 10;

function createMarketplaceReader(): (bytes: Buffer, at: number, use: (id: string) => void) => void {
  const cursor = createKnownCursor([memberPath('eventId')]);
  const reader = new FieldReader([parseFieldPath(`${MARKETPLACE_IDS}[]`, MARKETPLACE_IDS)], UTC);
  return (bytes, at, use) => {
    cursor.read(bytes, at);
    reader.read(bytes, cursor.eventStart);
    reader.each(0, (value, start, end) => {
      if (start !== MISSING) use(valueText(value, start, end));
    });
  };
}

/** Keeps the events of any of these marketplaces, which are all that distinguishes test from live events. */
export function marketplaceFilter(wanted: readonly string[]): KeepItems {
  const read = createMarketplaceReader();
  const others = new Set<string>();
  let seen = 0;
  let isFound = false;
  const isWanted = (bytes: Buffer, at: number): boolean => {
    let isOne = false;
    read(bytes, at, (id) => {
      if (wanted.includes(id)) isOne = true;
      else if (others.size < MAX_NAMED) others.add(id);
    });
    return isOne;
  };
  const keep = <Some extends Items>(items: Some): Some => {
    const indexes = [...Array(items.count).keys()];
    const kept = indexes.filter((item) => isWanted(items.bytes, items.start(item)));
    seen += items.count;
    if (kept.length > 0) isFound = true;
    return kept.length === items.count ? items : (items.pick(kept) as Some);
  };
  const doubts = () => {
    if (isFound || seen === 0) return [];
    const looked = `(${eventsText(seen)} looked at)`;
    if (others.size === 0) return [`--marketplace: no event has the field ${MARKETPLACE_IDS} ${looked}`];
    const of = `no event is of ${marketplacesText(wanted)}`;
    return [`--marketplace: ${of}; there are events of ${[...others].sort().join(', ')} ${looked}`];
  };
  return Object.assign(keep, { doubts });
}

/** Encoders do not escape the letters of a name. */
const LIST_NAME = Buffer.from('marketplaceIds');
const LIST_END = ']';

export class MarketplaceMix {
  readonly #read = createMarketplaceReader();
  readonly #ids = new Set<string>();
  /** The name with a list of ids, as in an event already read. */
  #knownList = LIST_NAME;
  /** Marketplaces common to all events; undefined before the first. */
  #common: readonly string[] | undefined;

  /** Stops reading once no marketplace is common to all events. */
  see(items: Items): void {
    if (this.#haveKnownList(items)) return;
    for (let item = 0; item < items.count && this.#common?.length !== 0; item++) {
      const own: string[] = [];
      this.#read(items.bytes, items.start(item), (id) => own.push(id));
      if (own.length === 0) continue;
      for (const id of own) this.#ids.add(id);
      this.#common = this.#common?.filter((id) => own.includes(id)) ?? own;
    }
  }

  /** True if every event has the known list: reading each event would take much longer. */
  #haveKnownList({ bytes }: Items): boolean {
    for (let at = bytes.indexOf(LIST_NAME); at !== -1; at = bytes.indexOf(LIST_NAME, at + LIST_NAME.length)) {
      if (this.#knownList !== LIST_NAME && startsWith(bytes, at, this.#knownList)) continue;
      const end = bytes.indexOf(LIST_END, at);
      if (end !== -1) this.#knownList = Buffer.from(bytes.subarray(at, end + 1));
      return false;
    }
    return true;
  }

  get ids(): readonly string[] | undefined {
    return this.#common?.length === 0 ? [...this.#ids].sort() : undefined;
  }
}

export function marketplacesText(ids: readonly string[]): string {
  return `${ids.length === 1 ? 'marketplace' : 'marketplaces'} ${ids.join(', ')}`;
}
