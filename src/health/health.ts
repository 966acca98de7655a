import type { Call } from '../command.ts';
import { ServiceError, UnreachableError, UsageError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { exactValue } from '../items/exact-numbers.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { errorField } from '../items/item-columns.ts';
import type { Items } from '../items/items.ts';
import { scalarsText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-cursor.ts';
import { noSuchField } from '../items/near-field.ts';
import { loadNameField } from '../names/name-field.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { createWhoReader } from '../names/who.ts';
import { latestRun } from '../outcomes/failure-runs.ts';
import { GroupedValues } from '../outcomes/grouped-values.ts';
import { OUTCOMES } from '../outcomes/outcome-names.ts';
import { provenRate } from '../outcomes/proven-rate.ts';
import { HISTORY_MS } from '../outcomes/rhythm.ts';
import { sortRows, TimeColumn } from '../outcomes/time-column.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { type EventSource, type SourceOptions, windowOf, withEventSource } from '../sources/event-source.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { HOUR_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { findSilences, type Silence, silenceOf } from './silence.ts';

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
   * Who its events are for, or of a subscription that the service names the address as it may be shown; null
   * for others.
   */
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
  readonly by: readonly FieldPath[];
  /** Failing first, and of each state the worst. */
  readonly rows: readonly Health[];
}

/** By default the field of an event that the service filters by (service description, part 4). */
const SUBSCRIPTION = memberPath('subscriptionId');
const MOST_VALUES = 100_000;
const RECENT_EVENTS = 10;
const LONGEST_ERROR_CHARACTERS = 200;
/** The names of one row that are told from each other. */
const MOST_NAMES = 100;
const UNORDERED =
  'events have no time, and the service lists failed ones apart: which are the newest is not known, and failing means that any failed';

/** Tells of each value of a field, or of several, whether its newest event failed. */
export async function checkHealth(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  { by = [SUBSCRIPTION], ...options }: SourceOptions & { readonly by?: readonly FieldPath[] | undefined },
): Promise<HealthReport> {
  if (options.filters.statuses.length > 0)
    throw new UsageError('--status: health is about failures and successes alike', {
      next: 'leave --status and --failed out: what fails is listed first',
    });
  const nameField = await loadNameField(call.flags, call.context);
  return await withEventSource(call, options, async (source) => {
    const isBySubscription = by.length === 1 && by[0]?.steps.join('.') === 'subscriptionId';
    const names = isBySubscription ? source.askNames?.() : undefined;
    const table = new HealthTable(by, source.filters.zone, isBySubscription ? nameField : undefined);
    for await (const { items, haveFailed } of source.readOutcomes(source.filters, source.window))
      table.add(items, haveFailed);
    if (table.events === 0) source.doubt();
    for (const doubt of table.doubts()) call.reporter.warning(doubt);
    const { after, before } = windowOf(source, table.times.bounds, call.context.clock);
    const found = table.rows();
    await names?.learn(found.flatMap((row) => idOf(row) ?? []));
    const quiet = names ? quietSubscriptions(names, found, source.filters) : [];
    const unsilenced = [...found, ...quiet];
    const watching = { by, isBySubscription, names, before };
    const silences = await silencesOf(source, table, unsilenced, watching).catch((error: unknown) => {
      // What the window says is known by then.
      if (!(error instanceof ServiceError || error instanceof UnreachableError)) throw error;
      call.reporter.warning(`whether a subscription is silent is not known: ${error.message}`);
      return new Map<string, Silence>();
    });
    const rows = namedRows(
      unsilenced.map((row) => withSilence(row, silences.get(row.key))),
      isBySubscription,
      names,
    );
    return { after, before, by, rows, untold: source.warnOfUnknown(table.untold, table.times) };
  });
}

/**
 * Rows with what people call them, the most urgent first. `areSubscriptions`: their one value is the id of a
 * subscription.
 */
export function namedRows(
  rows: readonly Unnamed[],
  areSubscriptions: boolean,
  names: SubscriptionNames | undefined,
): Health[] {
  return rows.map((row) => withName(row, areSubscriptions ? idOf(row) : undefined, names)).sort(byUrgency);
}

/** The id of the subscription that a row is about; undefined if its value is no text. */
function idOf({ values: [id] }: Unnamed): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

interface Unnamed extends Omit<Health, 'label'> {
  /** The JSON texts of its values. */
  readonly key: string;
  /** How many names its events have. */
  readonly names: number;
}

interface Group {
  readonly rows: number[];
  readonly names: Set<string>;
}

/** Outcomes of events by the values of some fields, in order of creation. */
export class HealthTable {
  readonly times = new TimeColumn();
  /** The events whose outcome is not known. */
  untold = 0;
  readonly #by: readonly FieldPath[];
  readonly #reader;
  readonly #values;
  readonly #groups = new Map<string, Group>();
  readonly #failures: boolean[] = [];
  /** The reasons of failures, as codes, since most are one of few. */
  readonly #errorOf = new Map<number, number>();
  readonly #errorCodes = new Map<string, number>();
  readonly #whoOf;
  readonly #isFound: boolean[];
  #isSplit = false;
  #sample: Items | undefined;
  #readError: ReturnType<typeof createCursor> | undefined;

  /** Hours and weekdays are those of `zone`. */
  constructor(by: readonly FieldPath[], zone: TimeZone, nameField?: FieldPath) {
    this.#by = by;
    this.#reader = new FieldReader([...by, memberPath('publishStatus'), memberPath('createdOn')], zone);
    this.#values = new GroupedValues(this.#reader, by.length);
    this.#whoOf = nameField && createWhoReader(nameField);
    this.#isFound = by.map(() => false);
  }

  /** The events whose outcome is known. */
  get events(): number {
    return this.#failures.length;
  }

  /**
   * Adds events. `haveFailed`: what is known of all of them. Throws `ServiceError` if there are too many
   * groups.
   */
  add(items: Items, haveFailed: boolean | undefined): void {
    if (items.count > 0) this.#sample ??= items;
    if (haveFailed !== undefined) this.#isSplit = true;
    const { bytes, count } = items;
    const status = this.#by.length;
    for (let item = 0; item < count; item++) {
      this.#reader.read(bytes, items.start(item));
      const outcome = haveFailed ?? OUTCOMES.get(this.#reader.text(status) ?? '');
      if (outcome === undefined) this.untold++;
      else this.#addEvent(items, item, outcome);
    }
    if (this.#groups.size > MOST_VALUES) throw this.#tooMany();
  }

  /** Adds the event that the reader has read, in all of its groups. */
  #addEvent(items: Items, item: number, hasFailed: boolean): void {
    const row = this.times.push(this.#reader.text(this.#by.length + 1) ?? '');
    this.#failures.push(hasFailed);
    const name = this.#whoOf?.(items.bytes, items.start(item)).name;
    for (const group of this.#groupsOfEvent()) {
      group.rows.push(row);
      if (name !== undefined && group.names.size < MOST_NAMES) group.names.add(name);
    }
    if (hasFailed) this.#noteError(row, items, item);
  }

  /** A warning for each field that no event has, and one if the newest events are not known. */
  doubts(): string[] {
    if (this.events === 0) return [];
    const sample = this.#sample as Items;
    const unknown = this.#by.filter((_, index) => !this.#isFound[index]);
    const misspelt = unknown.map((field) => `--by: ${noSuchField(field, sample)}`);
    return this.#isSplit && !this.times.bounds.last ? [...misspelt, UNORDERED] : misspelt;
  }

  rows(): Unnamed[] {
    return [...this.#groups].map(([key, group]) => this.#healthOf(key, group));
  }

  /** The times of the events of each group that say theirs, by its key. */
  instants(): Map<string, Instant[]> {
    const ofGroup = ({ rows }: Group) =>
      rows.flatMap((row) => (this.times.isKnown(row) ? [this.times.at(row)] : []));
    return new Map([...this.#groups].map(([key, group]) => [key, ofGroup(group)]));
  }

  /** The groups that the event is in. */
  #groupsOfEvent(): Group[] {
    for (const field of this.#by.keys()) this.#isFound[field] ||= this.#reader.has(field);
    const groups = this.#values.ofEvent(MOST_VALUES);
    if (!groups) throw this.#tooMany();
    // No JSON text of the service has a line feed: white space between tokens is left out.
    return groups.map((texts) => this.#groupOf(texts.join('\n')));
  }

  #groupOf(key: string): Group {
    const known = this.#groups.get(key);
    if (known) return known;
    const group = { rows: [], names: new Set<string>() };
    this.#groups.set(key, group);
    return group;
  }

  #tooMany(): ServiceError {
    const fields = this.#by.map(({ text }) => text).join();
    return new ServiceError(`--by ${fields}: more than ${MOST_VALUES} values`, {
      next: 'name a field with fewer different values, or narrow the search',
    });
  }

  #noteError(row: number, items: Items, item: number): void {
    if (!this.#readError) {
      const field = errorField([items.pick([item])]);
      if (!field) return;
      this.#readError = createCursor([field]);
    }
    this.#readError.read(items.bytes, items.start(item));
    const start = this.#readError.starts[0] as number;
    if (start === MISSING) return;
    const end = this.#readError.ends[0] as number;
    const text = scalarsText(items.bytes, start, end, LONGEST_ERROR_CHARACTERS).slice(
      0,
      LONGEST_ERROR_CHARACTERS,
    );
    if (text === '-' || text === '') return;
    const code = this.#errorCodes.get(text) ?? this.#errorCodes.size;
    this.#errorCodes.set(text, code);
    this.#errorOf.set(row, code);
  }

  #errorText(row: number | undefined): string | undefined {
    const code = row === undefined ? undefined : this.#errorOf.get(row);
    return code === undefined ? undefined : [...this.#errorCodes.keys()][code];
  }

  /**
   * The rows of a group, newest first. Events without a time stay as they are listed, which is newest first
   * as a rule.
   */
  #newestFirst(rows: number[]): number[] {
    const isKnown = (row: number) => this.times.isKnown(row);
    const known = sortRows(rows.filter(isKnown), this.times).reverse();
    return [...known, ...rows.filter((row) => !isKnown(row))];
  }

  #healthOf(key: string, { rows, names }: Group): Unnamed {
    const { times } = this;
    const failures = this.#failures;
    const newestFirst = this.#newestFirst(rows);
    const isKnown = (row: number) => times.isKnown(row);
    const failed = newestFirst.filter((row) => failures[row]);
    const delivered = newestFirst.filter((row) => !failures[row]);
    const oldestFirst = newestFirst.toReversed();
    const run = latestRun(oldestFirst.length, (index) => failures[oldestFirst[index] as number] === true);
    const isFailing = run?.isOpen === true;
    const failuresOfRun = oldestFirst.slice(run?.start).filter((row) => failures[row]);
    const [firstName, ...otherNames] = names;
    const more = otherNames.length === 0 ? '' : ` and ${otherNames.length} more`;
    return {
      key,
      values: this.#by.length === 0 ? [] : key.split('\n').map(exactValue),
      state: stateOf(isFailing, failed.length),
      failed: failed.length,
      events: rows.length,
      failingSince: isFailing ? times.at(failuresOfRun.find(isKnown)) : undefined,
      edge: isFailing && run.isAtEdge,
      firstFailed: times.at(failed.findLast(isKnown)),
      lastFailed: times.at(failed.find(isKnown)),
      lastError: this.#errorText(failed.find((row) => this.#errorOf.has(row))),
      lastSuccess: times.at(delivered.find(isKnown)),
      silentSince: undefined,
      usualGapSeconds: undefined,
      recent: Array.from(newestFirst.slice(0, RECENT_EVENTS), (row) => (failures[row] ? 'F' : 'S')).join(''),
      name: firstName === undefined ? null : firstName + more,
      names: names.size,
    };
  }
}

/** The subscriptions of the service that have no row, unless filters left out the events of some. */
function quietSubscriptions(
  names: SubscriptionNames,
  rows: readonly Unnamed[],
  filters: EventFilters,
): Unnamed[] {
  const { subscriptionIds } = filters;
  const others = filters.withSubscriptions([]).withStatuses().withoutTimes();
  if (others.texts().length > 0) return [];
  const isAsked = (id: string) =>
    subscriptionIds.length === 0 || subscriptionIds.some((asked) => asked.toLowerCase() === id);
  const seen = new Set(rows.map(({ values: [id] }) => String(id).toLowerCase()));
  return names.all.flatMap(({ id, state }) => {
    const key = id.toLowerCase();
    if (seen.has(key) || !isAsked(key)) return [];
    const asked = { values: [id], key: JSON.stringify(id), names: 0 };
    return [{ ...NO_EVENTS, ...asked, state: state === 'on' ? ('silent' as const) : ('off' as const) }];
  });
}

export const NO_EVENTS = {
  ...{ state: 'ok' as const, failed: 0, events: 0, recent: '', edge: false, name: null },
  ...{ failingSince: undefined, lastSuccess: undefined, lastError: undefined },
  ...{ firstFailed: undefined, lastFailed: undefined },
  ...{ silentSince: undefined, usualGapSeconds: undefined },
};

/** A gap that is shorter is no silence, whatever the rhythm. */
const SHORTEST_SILENCE_MS = 2 * HOUR_MS;
/**
 * Rows of the service that are looked at for a silence, those first that lack most by their rate in the
 * window.
 */
const MOST_WATCHED = 100;

interface Watching {
  readonly by: readonly FieldPath[];
  readonly isBySubscription: boolean;
  readonly names: SubscriptionNames | undefined;
  /** The end of the window. */
  readonly before: Instant;
}

/** The unusual silences of some rows, by their keys. */
async function silencesOf(
  source: EventSource,
  table: HealthTable,
  rows: readonly Unnamed[],
  { by, isBySubscription, names, before }: Watching,
): Promise<ReadonlyMap<string, Silence>> {
  const end = milliseconds(before);
  const gapOf = (row: Unnamed) => {
    const last = lastOf(row);
    return last ? end - milliseconds(last) : HISTORY_MS;
  };
  const isSwitchedOn = ({ values: [id] }: Unnamed) => (names?.of(String(id))?.state ?? 'on') === 'on';
  const quiet = rows.filter((row) => gapOf(row) > SHORTEST_SILENCE_MS && isSwitchedOn(row));
  if (quiet.length === 0) return new Map();
  if (!source.count) return await storedSilences(source, table, by, before);
  // The service filters by no other field of a row, and reading all events of weeks costs too much.
  if (!isBySubscription || source.filters.runHere) return new Map();
  const due = quiet.toSorted((a, b) => b.events * gapOf(b) - a.events * gapOf(a)).slice(0, MOST_WATCHED);
  const watched = due.flatMap((row) => {
    const [id] = row.values;
    if (typeof id !== 'string') return [];
    return [{ key: row.key, chosen: source.filters.withSubscriptions([id]), last: lastOf(row) }];
  });
  const silences = await findSilences(source, watched, before);
  return new Map(
    watched.flatMap(({ key }, index) => {
      const silence = silences[index];
      return silence ? [[key, silence] as const] : [];
    }),
  );
}

/** The newest event of a row that says its time. */
export function lastOf({
  lastFailed,
  lastSuccess,
}: Pick<Health, 'lastFailed' | 'lastSuccess'>): Instant | undefined {
  if (!lastFailed || !lastSuccess) return lastFailed ?? lastSuccess;
  return compareInstants(lastFailed, lastSuccess) > 0 ? lastFailed : lastSuccess;
}

/**
 * Stored events tell their rhythm themselves: those before a window are read too, if they can be read again.
 */
async function storedSilences(
  source: EventSource,
  table: HealthTable,
  by: readonly FieldPath[],
  before: Instant,
): Promise<ReadonlyMap<string, Silence>> {
  let history = table;
  if (source.window && !source.isReadOnce) {
    history = new HealthTable(by, source.filters.zone);
    const after = knownInstant(milliseconds(before) - HISTORY_MS);
    for await (const page of source.readOutcomes(source.filters, { after, before }))
      history.add(page.items, page.haveFailed);
  }
  const silences = [...history.instants()].flatMap(([key, instants]) => {
    const silence = silenceOf(instants, milliseconds(before));
    return silence ? [[key, silence] as const] : [];
  });
  return new Map(silences);
}

function withSilence(row: Unnamed, silence: Silence | undefined): Unnamed {
  if (!silence) return row;
  const state = row.state === 'failing' ? row.state : 'silent';
  return { ...row, state, silentSince: silence.since, usualGapSeconds: silence.usualGapSeconds };
}

/** The row with what people call it: who its events are for, or else the address of the subscription. */
function withName(
  { key: _, ...row }: Unnamed,
  id: string | undefined,
  names: SubscriptionNames | undefined,
): Health {
  const address = id === undefined ? undefined : names?.nameOf(id);
  const label = id === undefined ? undefined : names?.labelOf(id);
  // Where several names share a subscription, its address says more than the first of them.
  const isShared = row.names > 1 && address !== undefined;
  if (row.name === null || isShared) return { ...row, name: address ?? null, label: label ?? null };
  const state = id === undefined ? undefined : names?.of(id)?.state;
  return { ...row, label: state === undefined || state === 'on' ? row.name : `${row.name}, ${state}` };
}

function stateOf(isFailing: boolean, failed: number): Health['state'] {
  if (isFailing) return 'failing';
  return failed > 0 ? 'recovered' : 'ok';
}

/** What fails comes first, then what is silent against its rhythm. */
function rankOf({ state, silentSince }: Health): number {
  if (state === 'failing') return -2;
  return silentSince ? -1 : STATES.indexOf(state);
}

/**
 * By state, and then worst first: by the least rate of failure that the numbers prove, so that 1 of 1 is not
 * on top.
 */
function byUrgency(a: Health, b: Health): number {
  return (
    rankOf(a) - rankOf(b) ||
    provenRate(b.failed, b.events) - provenRate(a.failed, a.events) ||
    b.failed - a.failed ||
    b.events - a.events ||
    (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1)
  );
}

/** The rows as `events health --json` prints them. */
export function healthJson({ by, rows }: Pick<HealthReport, 'by' | 'rows'>) {
  return rows.map(({ values, ...row }) => ({
    by: Object.fromEntries(by.map(({ text }, field) => [text, values[field]])),
    value: values[0],
    ...healthMembers(row),
  }));
}

/** What is said of a row beside the values that it is about. */
export function healthMembers(row: Omit<Health, 'values' | 'label'>) {
  return {
    name: row.name,
    state: row.state,
    failed: row.failed,
    events: row.events,
    failingSince: row.failingSince?.text ?? null,
    edge: row.edge,
    lastFailed: row.lastFailed?.text ?? null,
    lastError: row.lastError ?? null,
    lastSuccess: row.lastSuccess?.text ?? null,
    silentSince: row.silentSince?.text ?? null,
    usualGapSeconds: row.usualGapSeconds ?? null,
    recent: row.recent,
  };
}
