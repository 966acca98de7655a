import type { SubscriptionNames } from '../names/subscription-names.ts';
import { provenRate } from '../outcomes/proven-rate.ts';
import { compareInstants, type Instant } from '../time/instant.ts';

/**
 * `failing`: the newest event is inside a run of failures. `recovered`: an earlier event failed. `silent`: a
 * subscription of the service that has no event in the window, `off` one that is switched off besides.
 */
const STATES = ['failing', 'recovered', 'silent', 'off', 'ok'] as const;

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
  /**
   * The name of those that its events are for, or of a subscription that the service names the address as it
   * may be shown; null for others.
   */
  readonly name: string | null;
  /** The same with `off` or `gone`, for people. */
  readonly label: string | null;
}

/** The same before it is known what people call it. */
export interface UnnamedHealth extends Omit<Health, 'label'> {
  /** The JSON texts of its values. */
  readonly key: string;
  /** How many names its events have. */
  readonly names: number;
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
  name: null,
} as const satisfies Omit<Health, 'values' | 'label'>;

/** The newest event of a row that says its time. */
export function lastOf({
  lastFailed,
  lastSuccess,
}: Pick<Health, 'lastFailed' | 'lastSuccess'>): Instant | undefined {
  if (!lastFailed || !lastSuccess) return lastFailed ?? lastSuccess;
  return compareInstants(lastFailed, lastSuccess) > 0 ? lastFailed : lastSuccess;
}

/** The id of the subscription that a row is about; undefined if its value is no text. */
export function subscriptionIdOf({ values }: UnnamedHealth): string | undefined {
  const [id] = values;
  return typeof id === 'string' ? id : undefined;
}

/**
 * Rows with what people call them, the most urgent first. `areSubscriptions`: their one value is the id of a
 * subscription.
 */
export function namedRows(
  rows: readonly UnnamedHealth[],
  areSubscriptions: boolean,
  names: SubscriptionNames | undefined,
): Health[] {
  const named = rows.map((row) => withName(row, areSubscriptions ? subscriptionIdOf(row) : undefined, names));
  return named.sort(compareUrgency);
}

/** The row with what people call it: who its events are for, or else the address of the subscription. */
function withName(
  { key: _, ...row }: UnnamedHealth,
  id: string | undefined,
  names: SubscriptionNames | undefined,
): Health {
  const address = id === undefined ? undefined : names?.nameOf(id);
  const label = id === undefined ? undefined : names?.labelOf(id);
  // The address of a subscription that several names share says more than the first of them.
  const isShared = row.names > 1 && address !== undefined;
  if (row.name === null || isShared) return { ...row, name: address ?? null, label: label ?? null };
  const state = id === undefined ? undefined : names?.of(id)?.state;
  return { ...row, label: state === undefined || state === 'on' ? row.name : `${row.name}, ${state}` };
}

/** Rows that fail come first, then those that are silent against their rhythm. */
function rankOf({ state, silentSince }: Health): number {
  if (state === 'failing') return -2;
  return silentSince ? -1 : STATES.indexOf(state);
}

/**
 * By state, and then worst first: by the least rate of failure that the numbers prove, so that 1 of 1 is not
 * on top.
 */
function compareUrgency(a: Health, b: Health): number {
  return (
    rankOf(a) - rankOf(b) ||
    provenRate(b.failed, b.events) - provenRate(a.failed, a.events) ||
    b.failed - a.failed ||
    b.events - a.events ||
    (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1)
  );
}
