import type { EventColumn } from '../items/item-columns.ts';
import type { ColumnHead } from './table-layout.ts';

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

export const EVENT_HEADS: Readonly<Record<EventColumn, ColumnHead>> = {
  createdOn: { title: 'createdOn' },
  publishStatus: { title: 'publishStatus', shortTitle: 'status' },
  eventType: { title: 'eventType', isDistinctive: true },
  eventId: { title: 'eventId', spare: SPARE.id, isWhole: true, restoreOrder: 2 },
  subscriptionId: whoHead('subscriptionId'),
};
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
