import type { Call } from '../command.ts';
import { ServiceError, UsageError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { exactValue } from '../items/item-conditions.ts';
import { type FieldPath, MISSING, memberPath, noSuchField } from '../items/item-fields.ts';
import type { Items } from '../items/items.ts';
import { createCursor } from '../items/known-cursor.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { OUTCOMES, sortRows, TimeColumn } from '../outcomes/comparison-table.ts';
import { latestRun } from '../outcomes/failure-runs.ts';
import { type SourceOptions, windowOf, withEventSource } from '../sources/event-source.ts';
import type { Instant } from '../time/instant.ts';

/**
 * `failing`: the newest event is inside a run of failures. `recovered`: an earlier event failed. `silent`: a
 * subscription of the service that has no event in the window, `off` one that is switched off besides.
 */
const STATES = ['failing', 'recovered', 'silent', 'off', 'ok'] as const;

/** The deliveries of a subscription, or of another value's events. */
export interface Health {
  /** Null for events without the field. A number that JavaScript cannot hold is a text. */
  readonly value: unknown;
  readonly state: (typeof STATES)[number];
  readonly failed: number;
  readonly events: number;
  /** The first failure of the run that goes on; undefined if none does. */
  readonly failingSince: Instant | undefined;
  /** True if that run may have begun before the events do. */
  readonly edge: boolean;
  readonly lastSuccess: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  /** `F` or `S` for each of the last ten events, newest first. */
  readonly recent: string;
  /** Of a subscription that the service names, the address as it may be shown; null for others. */
  readonly name: string | null;
  /** The same with `off` or `gone`, for people. */
  readonly label: string | null;
}

export interface HealthReport {
  /** The time that it is about. */
  readonly after: Instant;
  readonly before: Instant;
  /** The events whose outcome is not known. */
  readonly untold: number;
  readonly by: FieldPath;
  /** Failing first. */
  readonly rows: readonly Health[];
}

/** By default the field of an event that the service filters by (service description, part 4). */
const SUBSCRIPTION = memberPath('subscriptionId');
const MOST_VALUES = 100_000;
const RECENT_EVENTS = 10;
const UNORDERED =
  'events have no time, and the service lists failed ones apart: which are the newest is not known, and failing means that any failed';

/** Tells of each value of a field whether its newest event failed. */
export async function checkHealth(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { by = SUBSCRIPTION, ...options }: SourceOptions & { readonly by?: FieldPath | undefined },
): Promise<HealthReport> {
  if (options.filters.statuses.length > 0)
    throw new UsageError('--status: health is about failures and successes alike', {
      next: 'leave --status and --failed out: what fails is listed first',
    });
  return await withEventSource(call, options, async (source) => {
    const isBySubscription = by.steps.length === 1 && by.steps[0] === 'subscriptionId';
    const names = isBySubscription ? source.askNames?.() : undefined;
    const cursor = createCursor([by, memberPath('publishStatus'), memberPath('createdOn')]);
    const rowsOf = new Map<string, number[]>();
    const failures: boolean[] = [];
    const times = new TimeColumn();
    let untold = 0;
    let isFound = false;
    let isSplit = false;
    let sample: Items | undefined;
    for await (const { items, haveFailed } of source.readOutcomes(source.filters, source.window)) {
      if (items.count > 0) sample ??= items;
      if (haveFailed !== undefined) isSplit = true;
      for (let item = 0; item < items.count; item++) {
        cursor.read(items.bytes, items.start(item));
        const hasFailed = haveFailed ?? OUTCOMES.get(cursor.text(1) ?? '');
        if (hasFailed === undefined) {
          untold++;
          continue;
        }
        const [start = MISSING] = cursor.starts;
        if (start !== MISSING) isFound = true;
        const value = start === MISSING ? 'null' : items.bytes.toString('utf8', start, cursor.ends[0]);
        const rows = rowsOf.get(value) ?? [];
        if (rows.push(times.push(cursor.text(2) ?? '')) === 1) rowsOf.set(value, rows);
        failures.push(hasFailed);
      }
      if (rowsOf.size > MOST_VALUES)
        throw new ServiceError(`--by ${by.text}: more than ${MOST_VALUES} values`, {
          next: 'name a field with fewer different values, or narrow the search',
        });
    }
    if (failures.length === 0) source.doubt();
    else if (!isFound) call.reporter.warning(`--by: ${noSuchField(by, sample as Items)}`);
    if (failures.length > 0 && isSplit && !times.bounds.last) call.reporter.warning(UNORDERED);
    const { after, before } = windowOf(source, times.bounds, call.context.clock);
    const found = [...rowsOf].map(([value, of]) => healthOf(value, of, failures, times));
    await names?.learn(found.flatMap(({ value }) => (typeof value === 'string' ? [value] : [])));
    const quiet = names ? quietSubscriptions(names, found, source.filters) : [];
    const rows = [...found, ...quiet].map((row) => withName(row, names)).sort(byUrgency);
    return { after, before, by, rows, untold: source.warnOfUnknown(untold, times) };
  });
}

/** The subscriptions of the service that have no row, unless filters left out the events of some. */
function quietSubscriptions(
  names: SubscriptionNames,
  rows: readonly Unnamed[],
  filters: EventFilters,
): Unnamed[] {
  const { subscriptionIds, eventIds, eventTypes, conditions, grepTexts } = filters;
  if (eventIds.length + eventTypes.length + conditions.length + grepTexts.length > 0) return [];
  const isAsked = (id: string) =>
    subscriptionIds.length === 0 || subscriptionIds.some((asked) => asked.toLowerCase() === id);
  const seen = new Set(rows.map(({ value }) => String(value).toLowerCase()));
  return names.all.flatMap(({ id, state }) => {
    const key = id.toLowerCase();
    if (seen.has(key) || !isAsked(key)) return [];
    return [{ ...NO_EVENTS, value: id, state: state === 'on' ? ('silent' as const) : ('off' as const) }];
  });
}

type Unnamed = Omit<Health, 'name' | 'label'>;

const NO_EVENTS = {
  ...{ failed: 0, events: 0, recent: '' },
  ...{ failingSince: undefined, edge: false, lastSuccess: undefined, lastFailed: undefined },
};

function withName(row: Unnamed, names: SubscriptionNames | undefined): Health {
  const id = typeof row.value === 'string' ? row.value : undefined;
  const [name, label] = id === undefined ? [] : [names?.nameOf(id), names?.labelOf(id)];
  return { ...row, name: name ?? null, label: label ?? null };
}

function healthOf(value: string, rows: number[], failures: readonly boolean[], times: TimeColumn): Unnamed {
  const isKnown = (row: number) => times.isKnown(row);
  const known = sortRows(rows.filter(isKnown), times).reverse();
  // Events without a time stay in the order in which they are listed, which is newest first as a rule.
  const newestFirst = [...known, ...rows.filter((row) => !isKnown(row))];
  const failed = newestFirst.filter((row) => failures[row]);
  const delivered = newestFirst.filter((row) => !failures[row]);
  const oldestFirst = newestFirst.toReversed();
  const run = latestRun(oldestFirst.length, (index) => failures[oldestFirst[index] as number] === true);
  const isFailing = run?.isOpen === true;
  const failuresOfRun = oldestFirst.slice(run?.start).filter((row) => failures[row]);
  return {
    value: exactValue(value),
    state: stateOf(isFailing, failed.length),
    failed: failed.length,
    events: rows.length,
    failingSince: isFailing ? times.at(failuresOfRun.find(isKnown)) : undefined,
    edge: isFailing && run.isAtEdge,
    lastSuccess: times.at(delivered.find(isKnown)),
    lastFailed: times.at(failed.find(isKnown)),
    recent: Array.from(newestFirst.slice(0, RECENT_EVENTS), (row) => (failures[row] ? 'F' : 'S')).join(''),
  };
}

function stateOf(isFailing: boolean, failed: number): Health['state'] {
  if (isFailing) return 'failing';
  return failed > 0 ? 'recovered' : 'ok';
}

function byUrgency(a: Health, b: Health): number {
  return (
    STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
    b.failed - a.failed ||
    b.events - a.events ||
    (JSON.stringify(a.value) < JSON.stringify(b.value) ? -1 : 1)
  );
}

/** The rows that `events health --json` prints. */
export function healthJson({ by, rows }: HealthReport) {
  return rows.map(({ label: _, ...row }) => ({
    by: { [by.text]: row.value },
    ...row,
    failingSince: row.failingSince?.text ?? null,
    lastSuccess: row.lastSuccess?.text ?? null,
    lastFailed: row.lastFailed?.text ?? null,
  }));
}
