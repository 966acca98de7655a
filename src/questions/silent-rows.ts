import { EventFilters } from '../filters/event-filters.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import type { EventSource } from '../sources/event-source.ts';
import { HISTORY_MS } from '../statistics/rhythm.ts';
import { type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { HOUR_MS } from '../time/lengths.ts';
import { foldPages } from './fold.ts';
import { HealthFold } from './health-fold.ts';
import { lastOf, NO_EVENTS, subscriptionIdOf, type UnnamedHealth } from './health-row.ts';
import { findSilences, type Silence, silenceOf } from './silence.ts';

/** Shorter gaps are never a silence. */
export const SHORTEST_SILENCE_MS = 2 * HOUR_MS;
/** Maximum rows checked with the service for a silence, those with the most missing events first. */
const MAX_WATCHED = 100;

/** Rows for subscriptions that `rows` lacks; empty if filters may have excluded their events. */
export function quietSubscriptions(
  names: SubscriptionNames,
  rows: readonly UnnamedHealth[],
  filters: EventFilters,
): UnnamedHealth[] {
  const ofAnyMarketplace = new EventFilters({ ...filters, marketplaces: [] });
  const otherFilters = ofAnyMarketplace.withSubscriptions([]).withStatuses().withoutTimes();
  if (otherFilters.texts().length > 0) return [];
  const asked = filters.subscriptionIds.map((id) => id.toLowerCase());
  const seen = new Set(rows.map(({ values: [id] }) => String(id).toLowerCase()));
  const isQuiet = (id: string) => !seen.has(id) && (asked.length === 0 || asked.includes(id));
  return names.all
    .filter(
      ({ id, marketplaces }) => isQuiet(id.toLowerCase()) && isOfAny(marketplaces, filters.marketplaces),
    )
    .map(({ id, state }) => ({
      ...NO_EVENTS,
      values: [id],
      state: state === 'on' ? 'silent' : state,
      key: JSON.stringify(id),
    }));
}

function isOfAny(marketplaces: readonly string[], wanted: readonly string[]): boolean {
  const isUnknown = marketplaces.length === 0;
  return wanted.length === 0 || isUnknown || marketplaces.some((id) => wanted.includes(id));
}

export interface Watching {
  readonly by: readonly FieldPath[];
  readonly isBySubscription: boolean;
  readonly names: SubscriptionNames | undefined;
  readonly before: Instant;
}

/** `table` has the events of the window. Throws `ServiceError` and `UnreachableError`. */
export async function silencesOf(
  source: EventSource,
  table: HealthFold,
  rows: readonly UnnamedHealth[],
  { by, isBySubscription, names, before }: Watching,
): Promise<ReadonlyMap<string, Silence>> {
  const isSwitchedOn = ({ values: [id] }: UnnamedHealth) => (names?.of(String(id))?.state ?? 'on') === 'on';
  const quiet = rows.filter((row) => gapMs(row, before) > SHORTEST_SILENCE_MS && isSwitchedOn(row));
  if (quiet.length === 0) return new Map();
  if (!source.service) return await storedSilences(source, table, by, before);
  // The service cannot filter by a row's other fields, and reading weeks of events costs too much.
  if (!isBySubscription || source.filters.runHere) return new Map();
  return await silencesOfSubscriptions(source, quiet, before);
}

function gapMs(row: UnnamedHealth, before: Instant): number {
  const last = lastOf(row);
  return last ? milliseconds(before) - milliseconds(last) : HISTORY_MS;
}

/** Also reads events before the window, if the source can be read again. */
async function storedSilences(
  source: EventSource,
  table: HealthFold,
  by: readonly FieldPath[],
  before: Instant,
): Promise<ReadonlyMap<string, Silence>> {
  const isWhole = !source.window || source.isReadOnce;
  const history = isWhole ? table : await readHistory(source, by, before);
  const silences = new Map<string, Silence>();
  for (const [key, instants] of history.instants()) {
    const silence = silenceOf(instants, milliseconds(before));
    if (silence) silences.set(key, silence);
  }
  return silences;
}

async function readHistory(
  source: EventSource,
  by: readonly FieldPath[],
  before: Instant,
): Promise<HealthFold> {
  const history = new HealthFold([by], source.filters.zone);
  const after = knownInstant(milliseconds(before) - HISTORY_MS);
  await foldPages(source.readOutcomes(source.filters, { after, before }), [history]);
  return history;
}

async function silencesOfSubscriptions(
  source: EventSource,
  rows: readonly UnnamedHealth[],
  before: Instant,
): Promise<ReadonlyMap<string, Silence>> {
  const missing = (row: UnnamedHealth) => row.events * gapMs(row, before);
  const due = rows.toSorted((a, b) => missing(b) - missing(a)).slice(0, MAX_WATCHED);
  const watched = due.flatMap((row) => {
    const id = subscriptionIdOf(row);
    if (id === undefined) return [];
    return [{ key: row.key, chosen: source.filters.withSubscriptions([id]), last: lastOf(row) }];
  });
  const found = await findSilences(source, watched, before);
  return new Map([...found].map(([{ key }, silence]) => [key, silence]));
}

export function withSilence<Row extends Pick<UnnamedHealth, 'state' | 'silentSince' | 'usualGapSeconds'>>(
  row: Row,
  silence: Silence | undefined,
): Row {
  if (!silence) return row;
  const state = row.state === 'failing' ? row.state : 'silent';
  return { ...row, state, silentSince: silence.since, usualGapSeconds: silence.usualGapSeconds };
}
