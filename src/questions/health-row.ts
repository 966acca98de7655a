import type { SubscriptionNames } from '../names/subscription-names.ts';
import { provenRate } from '../statistics/proven-rate.ts';
import { type Instant, laterOf } from '../time/instant.ts';

/**
 * `failing`: the newest event is in a run of failures. `recovered`: an earlier event failed. `silent`: no
 * events for unusually long, or none in the window for a subscription. `off` (switched off) and `gone`
 * (unknown to the service) override the others.
 */
const STATES = ['failing', 'recovered', 'silent', 'off', 'gone', 'ok'] as const;

export interface Health {
  /** By field: null if missing; a string for numbers that JavaScript cannot represent. */
  readonly values: readonly unknown[];
  readonly state: (typeof STATES)[number];
  readonly failed: number;
  readonly events: number;
  /** First failure of the current run; undefined if there is none. */
  readonly failingSince: Instant | undefined;
  /** True if that run may have begun before the window. */
  readonly edge: boolean;
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  readonly lastError: string | undefined;
  readonly lastSuccess: Instant | undefined;
  /** Time of the last event, if the gap since then is unusual for the rhythm of earlier weeks. */
  readonly silentSince: Instant | undefined;
  /** Usual gap at the same hours of earlier weeks. */
  readonly usualGapSeconds: number | undefined;
  /** `F` or `S` for each of the last ten events, newest first. */
  readonly recent: string;
  /** The first name in the name field, with the number of others. */
  readonly who: string | null;
  readonly isShared: boolean;
  readonly address: string | null;
}

export interface UnnamedHealth extends Omit<Health, 'address'> {
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

export function lastOf({
  lastFailed,
  lastSuccess,
}: Pick<Health, 'lastFailed' | 'lastSuccess'>): Instant | undefined {
  return lastSuccess ? laterOf(lastFailed, lastSuccess) : lastFailed;
}

/** Returns the first name, with the number of others; null without names. */
export function shownNames([first, ...others]: readonly string[]): string | null {
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

/** If several names share a row, its address identifies the receiver better than the first name. */
export function receiverOf({ who, isShared, address }: Pick<Health, 'who' | 'isShared' | 'address'>) {
  return isShared ? (address ?? who) : (who ?? address);
}

export function subscriptionIdOf({ values }: Pick<Health, 'values'>): string | undefined {
  const [id] = values;
  return typeof id === 'string' ? id : undefined;
}

/** Adds addresses and the states `off` and `gone`, and sorts by urgency. */
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

/** A subscription that is off or gone is not in a run of failures. */
export function withoutPast<Row extends Pick<Health, 'state' | 'failingSince' | 'edge'>>(
  row: Row,
  endpoint: 'on' | 'off' | 'gone' | undefined,
): Row {
  if (endpoint === undefined || endpoint === 'on') return row;
  return { ...row, state: endpoint, failingSince: undefined, edge: false };
}

/** Failing rows come first, then those silent against their rhythm. */
function rankOf({ state, silentSince }: Health): number {
  if (state === 'failing') return -2;
  return silentSince ? -1 : STATES.indexOf(state);
}

/** By state, then by the proven failure rate: 1 of 1 proves less than 40 of 50. */
function compareUrgency(a: Health, b: Health): number {
  return (
    rankOf(a) - rankOf(b) ||
    provenRate(b.failed, b.events) - provenRate(a.failed, a.events) ||
    b.events - a.events ||
    (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1)
  );
}
