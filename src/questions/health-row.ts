import type { SubscriptionNames } from '../names/subscription-names.ts';
import { provenRate } from '../statistics/proven-rate.ts';
import { compareInstants, type Instant } from '../time/instant.ts';

/**
 * `failing`: the newest event is inside a run of failures. `recovered`: an earlier event failed. `silent`:
 * without an event for unusually long, or a subscription of the service without one in the window. `off`:
 * switched off, and `gone`: unknown to the service, whatever its events were.
 */
const STATES = ['failing', 'recovered', 'silent', 'off', 'gone', 'ok'] as const;

/** The deliveries of a subscription, or of the events with other values in common. */
export interface Health {
  /** Of each field: null for events without it. A number that JavaScript cannot hold is a text. */
  readonly values: readonly unknown[];
  readonly state: (typeof STATES)[number];
  readonly failed: number;
  readonly events: number;
  /** The first failure of the run that goes on; undefined if none does. */
  readonly failingSince: Instant | undefined;
  /** True if that run may have begun before the events do. */
  readonly edge: boolean;
  /** The first failure in this time. */
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  /** Why the last failure failed, where events tell. */
  readonly lastError: string | undefined;
  readonly lastSuccess: Instant | undefined;
  /** The last event, if the gap since is longer than the rhythm of the weeks before explains. */
  readonly silentSince: Instant | undefined;
  /** From one event to the next at the same hours of these weeks. */
  readonly usualGapSeconds: number | undefined;
  /** `F` or `S` for each of the last ten events, newest first. */
  readonly recent: string;
  /** The first of the names that its events have in the name-field, with the number of the others. */
  readonly who: string | null;
  /** True if its events have several names. */
  readonly isShared: boolean;
  /** The callback address as it may be shown. */
  readonly address: string | null;
}

/** The same before the address is known. */
export interface UnnamedHealth extends Omit<Health, 'address'> {
  /** The JSON texts of its values. */
  readonly key: string;
}

export const NO_EVENTS = {
  state: 'ok',
  failed: 0,
  events: 0,
  failingSince: undefined,
  edge: false,
  firstFailed: undefined,
  lastFailed: undefined,
  lastError: undefined,
  lastSuccess: undefined,
  silentSince: undefined,
  usualGapSeconds: undefined,
  recent: '',
  who: null,
  isShared: false,
} as const satisfies Omit<Health, 'values' | 'address'>;

/** The newest event of a row that says its time. */
export function lastOf({
  lastFailed,
  lastSuccess,
}: Pick<Health, 'lastFailed' | 'lastSuccess'>): Instant | undefined {
  if (!lastFailed || !lastSuccess) return lastFailed ?? lastSuccess;
  return compareInstants(lastFailed, lastSuccess) > 0 ? lastFailed : lastSuccess;
}

/** The id of the subscription that a row is about; undefined if its value is no text. */
export function subscriptionIdOf({ values }: Pick<Health, 'values'>): string | undefined {
  const [id] = values;
  return typeof id === 'string' ? id : undefined;
}

/**
 * Rows with the addresses of subscriptions, and the state of those that are off or gone, the most urgent
 * first. `areSubscriptions`: their one value is the id of a subscription.
 */
export function namedRows(
  rows: readonly UnnamedHealth[],
  areSubscriptions: boolean,
  names: SubscriptionNames | undefined,
): Health[] {
  return rows
    .map(({ key: _, ...row }) => {
      const id = areSubscriptions ? subscriptionIdOf(row) : undefined;
      if (id === undefined) return { ...row, address: null };
      return { ...withoutPast(row, names?.of(id)?.state), address: names?.nameOf(id) ?? null };
    })
    .sort(compareUrgency);
}

/** The row of a subscription that is off or gone: no run of failures goes on. */
export function withoutPast<Row extends Pick<Health, 'state' | 'failingSince' | 'edge'>>(
  row: Row,
  endpoint: 'on' | 'off' | 'gone' | undefined,
): Row {
  if (endpoint === undefined || endpoint === 'on') return row;
  return { ...row, state: endpoint, failingSince: undefined, edge: false };
}

/** Rows that fail come first, then those that are silent against their rhythm. */
function rankOf({ state, silentSince }: Health): number {
  if (state === 'failing') return -2;
  return silentSince ? -1 : STATES.indexOf(state);
}

/** By state, and then by the rate of failure that the counts prove: 1 of 1 proves less than 40 of 50. */
function compareUrgency(a: Health, b: Health): number {
  return (
    rankOf(a) - rankOf(b) ||
    provenRate(b.failed, b.events) - provenRate(a.failed, a.events) ||
    b.failed - a.failed ||
    b.events - a.events ||
    (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1)
  );
}
