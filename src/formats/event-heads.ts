import type { EventColumn } from '../items/item-columns.ts';
import type { ColumnHead } from './table-layout.ts';

/*
 * How the columns of events give way on a narrow terminal, in every table that shows events or sums them up.
 * What tells rows apart stays: time, status, type, who the event is for, and what went wrong where there is
 * room. An id goes first, since nothing needs it that people read.
 */

/** The rank of columns of which a higher one is left out earlier. */
export const SPARE = { id: 5, other: 4, error: 1 } as const;
const SPARE_SECOND_ID = 6;

/** Enough to tell one error from another, and what 100 columns leave beside the longest common types. */
const LEAST_ERROR_COLUMNS = 15;
/** Enough for the name of a host. */
const LEAST_WHO_COLUMNS = 16;

/** The head of each column of events. */
export const EVENT_HEADS: Readonly<Record<EventColumn, ColumnHead>> = {
  createdOn: { title: 'createdOn' },
  publishStatus: { title: 'publishStatus', shortTitle: 'status' },
  eventType: { title: 'eventType', isTelling: true },
  eventId: { title: 'eventId', spare: SPARE.id, isWhole: true, tellsApart: 2 },
  subscriptionId: whoHead('subscriptionId'),
};
export const ERROR_HEAD: ColumnHead = { title: 'error', spare: SPARE.error, least: LEAST_ERROR_COLUMNS };

/** An id beside the name that people read. */
export const SECOND_ID: Omit<ColumnHead, 'title'> = { spare: SPARE_SECOND_ID, isWhole: true };

/** A column that names a receiver: a name, an address or the id of a subscription. */
export function whoHead(title: string): ColumnHead {
  return { title, least: LEAST_WHO_COLUMNS, isTelling: true };
}

/** The customers, by the name-field. */
export const FOR_HEAD: ColumnHead = whoHead('for');
/** The callback address of their subscription. */
export const ADDRESS_HEAD: ColumnHead = whoHead('address');

/** The address or id of a subscription after a column that names the receiver already. */
export function secondReceiver(head: ColumnHead): ColumnHead {
  return { ...head, spare: SPARE_SECOND_ID, tellsApart: 1 };
}
