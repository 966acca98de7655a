import { type FieldPath, parseFieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { listColumns } from '../items/item-columns.ts';
import type { Items, ListKind } from '../items/items.ts';
import { UTC } from '../time/time-zone.ts';
import type { ColumnHead } from './table-columns.ts';

/*
 * Decides which columns of events give way on a narrow terminal. Columns that distinguish rows stay: time,
 * status, type, receiver and, if there is room, the error. Ids go first, since people do not need them to
 * read the table.
 */

/** Columns with a higher rank are left out earlier. */
export const SPARE = { id: 5, other: 4, error: 1 } as const;
const SPARE_SECOND_ID = 6;

/** Enough to distinguish errors, and the room that 100 columns leave next to the longest common types. */
const MIN_ERROR_COLUMNS = 15;
/** Enough for a host name. */
const MIN_WHO_COLUMNS = 16;

/**
 * The columns of events in tables and CSV, in this order, if any event has them. The keys are paths as in
 * `--fields`, such as `data.orderId`.
 */
export const EVENT_HEADS = {
  createdOn: { title: 'createdOn' },
  publishStatus: { title: 'publishStatus', shortTitle: 'status' },
  eventType: { title: 'eventType', isDistinctive: true },
  eventId: { title: 'eventId', spare: SPARE.id, isWhole: true, restoreOrder: 2 },
  subscriptionId: whoHead('subscriptionId'),
} satisfies Readonly<Record<string, ColumnHead>>;

export const EVENT_PATHS: readonly FieldPath[] = Object.keys(EVENT_HEADS).map((path) =>
  parseFieldPath(path, 'EVENT_HEADS'),
);

export const ERROR_HEAD: ColumnHead = { title: 'error', spare: SPARE.error, least: MIN_ERROR_COLUMNS };

export const SECOND_ID: Omit<ColumnHead, 'title'> = { spare: SPARE_SECOND_ID, isWhole: true };

export function whoHead(title: string): ColumnHead {
  return { title, least: MIN_WHO_COLUMNS, isDistinctive: true };
}

export const FOR_HEAD: ColumnHead = whoHead('for');
export const ADDRESS_HEAD: ColumnHead = whoHead('address');

export function secondReceiver(head: ColumnHead): ColumnHead {
  return { ...head, spare: SPARE_SECOND_ID, restoreOrder: 1 };
}

/** Finds the columns that any event has, even as null. */
export class EventColumns {
  readonly #paths: readonly FieldPath[];
  readonly #reader: FieldReader;
  readonly #missing: Set<number>;

  constructor(paths = EVENT_PATHS) {
    this.#paths = paths;
    this.#reader = new FieldReader(paths, UTC);
    this.#missing = new Set(paths.keys());
  }

  see(page: Items): void {
    for (let item = 0; item < page.count && this.#missing.size > 0; item++) {
      this.#reader.read(page.bytes, page.start(item));
      for (const column of this.#missing) if (this.#reader.has(column)) this.#missing.delete(column);
    }
  }

  result(): readonly FieldPath[] {
    return this.#paths.filter((_, column) => !this.#missing.has(column));
  }
}

/** The default columns of a table. */
export function tableColumns(pages: readonly Items[], list: ListKind): readonly FieldPath[] {
  if (list !== 'events') return listColumns(pages, list);
  const found = new EventColumns();
  for (const page of pages) found.see(page);
  return listColumns(pages, list, found.result());
}
