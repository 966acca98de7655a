import { type FieldPath, memberPath } from '../../items/field-path.ts';
import { FieldReader } from '../../items/field-reader.ts';
import { Items, isObject } from '../../items/items.ts';
import { parseOutcome } from '../../items/outcome-names.ts';
import { createWhoReader } from '../../names/who.ts';
import { FailureReasons } from '../../questions/failure-reasons.ts';
import { GroupedValues } from '../../questions/grouped-values.ts';
import type { Silence } from '../../questions/silence.ts';
import {
  ALARM_LEVELS,
  type AlarmLevel,
  type AlarmRules,
  type DeliveryOutcome,
  levelOf,
  NO_HISTORY,
  type RowHistory,
  withOutcome,
} from '../../statistics/row-alarm.ts';
import { type Instant, instantAt, milliseconds, parseInstant } from '../../time/instant.ts';
import { HOUR_MS } from '../../time/lengths.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import type { WatchedItem } from '../../watch/watch-follower.ts';
import type { HealthMembers } from '../health-json.ts';

export type RowChangeName = 'recovered' | Exclude<AlarmLevel, 'fine'>;

export interface RowChange {
  readonly key: string;
  readonly change: RowChangeName;
  readonly previous: RowChangeName | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly reminder: boolean;
  readonly run: { readonly failed: number; readonly events: number } | null;
  readonly row: RowFacts;
}

/** Search bounds are exclusive: moving one by a millisecond includes the event at the bound. */
export function movedBound(time: string | null, byMs: number): Instant | undefined {
  const instant = time === null ? undefined : parseInstant(time);
  return instant && instantAt(Math.floor(milliseconds(instant)) + byMs);
}

/** The members of a row of `events health`. */
type RowFacts = Omit<HealthMembers, 'name'>;

type Endpoint = 'on' | 'off' | 'gone';

export interface WatchedRow {
  /** History up to the events that a late event may still precede. */
  settled: RowHistory;
  unsettled: DeliveryOutcome[];
  /** Counts by hour of the window; hours count from the epoch. */
  hours: [hour: number, failed: number, events: number][];
  names: string[];
  address: string | null;
  endpoint: Endpoint;
  silence: { readonly since: string; readonly usualGapSeconds: number } | null;
  /** `at` is in milliseconds. */
  reported: { readonly level: AlarmLevel; readonly since: string | null; readonly at: number };
}

export interface KeptRows {
  /** False during the first reading, which reports only each row's final state. */
  readonly isRead: boolean;
  readonly rows: readonly (readonly [key: string, row: WatchedRow])[];
  readonly pending: readonly RowChange[];
}

export interface RowRules extends AlarmRules {
  readonly by: readonly FieldPath[];
  readonly zone: TimeZone;
  readonly nameField: FieldPath | undefined;
  /** Milliseconds for which events are counted. */
  readonly windowMs: number;
  /** Overlap of polls, in milliseconds. */
  readonly overlapMs: number;
  /** Milliseconds after which a lasting change is reported again. */
  readonly remindMs: number;
}

/** Maximum names kept for a row. */
const MAX_NAMES = 20;

/** A fold over new events, each seen once. `pending` are the changes to report, in order. */
export class WatchedRows {
  readonly pending: RowChange[];
  readonly #rules: RowRules;
  readonly #rows: Map<string, WatchedRow>;
  readonly #current = new Map<WatchedRow, RowHistory>();
  readonly #reader;
  readonly #values;
  readonly #whoOf;
  readonly #reasons = new FailureReasons();
  #isRead: boolean;

  constructor(rules: RowRules, kept?: KeptRows) {
    this.#rules = rules;
    this.#rows = new Map(kept?.rows);
    this.#isRead = kept?.isRead ?? false;
    this.pending = [...(kept?.pending ?? [])];
    this.#reader = new FieldReader([...rules.by, memberPath('publishStatus')], rules.zone);
    this.#values = new GroupedValues(this.#reader, rules.by.length);
    this.#whoOf = rules.nameField && createWhoReader(rules.nameField);
  }

  get kept(): KeptRows {
    return { isRead: this.#isRead, rows: [...this.#rows], pending: this.pending };
  }

  get rows(): ReadonlyMap<string, Readonly<WatchedRow>> {
    return this.#rows;
  }

  /** Takes events in order of creation. */
  see(found: readonly WatchedItem[]): void {
    const items = Items.of(found.map(({ text }) => text));
    for (let item = 0; item < items.count; item++) this.#seeEvent(items, item, found[item] as WatchedItem);
  }

  #seeEvent(items: Items, item: number, { createdOn, createdBefore }: WatchedItem): void {
    const start = items.start(item);
    this.#reader.read(items.bytes, start);
    const hasFailed = parseOutcome(this.#reader.text(this.#rules.by.length));
    if (hasFailed === undefined) return;
    const at = createdOn ? milliseconds(createdOn) : createdBefore;
    const time = createdOn?.text ?? new Date(at).toISOString();
    const error = hasFailed ? (this.#reasons.textOf(items, item) ?? null) : null;
    const names = this.#whoOf?.(items.bytes, start).names ?? [];
    for (const key of this.#values.keysOfEvent() ?? []) {
      const row = this.rowOf(key);
      addNames(row, names);
      this.#addOutcome(key, row, { at, time, hasFailed, error });
    }
  }

  rowOf(key: string): WatchedRow {
    const known = this.#rows.get(key);
    if (known) return known;
    const row: WatchedRow = {
      settled: NO_HISTORY,
      unsettled: [],
      hours: [],
      names: [],
      address: null,
      endpoint: 'on',
      silence: null,
      reported: { level: 'fine', since: null, at: 0 },
    };
    this.#rows.set(key, row);
    return row;
  }

  historyOf(row: WatchedRow): RowHistory {
    const known = this.#current.get(row);
    if (known) return known;
    const history = row.unsettled.reduce(withOutcome, row.settled);
    this.#current.set(row, history);
    return history;
  }

  #addOutcome(key: string, row: WatchedRow, outcome: DeliveryOutcome): void {
    countOutcome(row, outcome);
    const history = this.historyOf(row);
    if (outcome.at >= history.lastMs) {
      // The run may have become long enough before this event.
      this.#compare(key, row, outcome.at);
      row.unsettled.push(outcome);
      this.#current.set(row, withOutcome(history, outcome));
      row.silence = null;
      this.#compare(key, row, outcome.at);
      return;
    }
    const place = row.unsettled.findLastIndex(({ at }) => at <= outcome.at);
    row.unsettled.splice(place + 1, 0, outcome);
    this.#current.delete(row);
    this.#compare(key, row, history.lastMs);
  }

  /** Call when all events before `now` (milliseconds, the service's clock) were seen, except late ones. */
  reach(now: number): void {
    const { overlapMs, windowMs, remindMs } = this.#rules;
    this.#isRead = true;
    for (const [key, row] of this.#rows) {
      this.#settle(row, now - overlapMs);
      const firstHour = Math.floor((now - windowMs) / HOUR_MS);
      if ((row.hours[0]?.[0] ?? firstHour) < firstHour)
        row.hours = row.hours.filter(([hour]) => hour >= firstHour);
      if (this.#compare(key, row, now)) continue;
      const { level, since, at } = row.reported;
      if (level === 'fine' || now - at < remindMs) continue;
      row.reported = { level, since, at: now };
      this.pending.push(this.#changeOf(key, row, { change: level, previous: level, since, reminder: true }));
    }
  }

  /** Sets the state reported by the service. Ends a run of failures if it changed. */
  setEndpoint(key: string, endpoint: Endpoint, address: string | null): void {
    const row = this.rowOf(key);
    row.address = address ?? row.address;
    if (row.endpoint === endpoint) return;
    row.endpoint = endpoint;
    row.settled = { ...this.historyOf(row), run: null };
    row.unsettled = [];
    row.silence = null;
    this.#current.set(row, row.settled);
  }

  setSilence(key: string, { since, usualGapSeconds }: Silence): void {
    this.rowOf(key).silence = { since: since.text, usualGapSeconds };
  }

  /** No event from before the time (milliseconds) can still appear. */
  #settle(row: WatchedRow, time: number): void {
    const count = row.unsettled.findIndex(({ at }) => at >= time);
    const settled = row.unsettled.splice(0, count < 0 ? row.unsettled.length : count);
    row.settled = settled.reduce(withOutcome, row.settled);
  }

  #compare(key: string, row: WatchedRow, now: number): boolean {
    if (!this.#isRead) return false;
    const { level: previous, since: began } = row.reported;
    const history = this.historyOf(row);
    const circumstances = { endpoint: row.endpoint, isSilent: row.silence !== null, now };
    const level = levelOf(history, previous, circumstances, this.#rules);
    if (level === previous) return false;
    const time = new Date(now).toISOString();
    const since = sinceOf(level, row, history, time);
    row.reported = { level, since, at: now };
    this.pending.push(
      this.#changeOf(key, row, {
        change: level === 'fine' ? 'recovered' : level,
        previous: previous === 'fine' ? null : previous,
        since: level === 'fine' ? began : since,
        until: level === 'fine' ? endOf(previous, history, time) : null,
      }),
    );
    return true;
  }

  #changeOf(
    key: string,
    row: WatchedRow,
    change: Pick<RowChange, 'change' | 'previous' | 'since'> & Partial<RowChange>,
  ): RowChange {
    const history = this.historyOf(row);
    const hasEnded = change.change === 'recovered' && change.previous === 'failing';
    const counted = hasEnded ? history.ended : history.run;
    return {
      until: null,
      reminder: false,
      ...change,
      key,
      run: counted && { failed: counted.failed, events: counted.events },
      row: factsOf(row, history, change.change),
    };
  }
}

function sinceOf(level: AlarmLevel, row: WatchedRow, history: RowHistory, now: string): string | null {
  if (level === 'fine') return null;
  if (level === 'failing') return history.run?.since ?? now;
  return level === 'silent' ? (row.silence?.since ?? now) : now;
}

/** A run ends at the first of its last successes, a silence at the next event. */
function endOf(previous: AlarmLevel, history: RowHistory, now: string): string {
  if (previous === 'failing') return history.ended?.until ?? now;
  return previous === 'silent' ? (history.last ?? now) : now;
}

function addNames({ names }: WatchedRow, more: readonly string[]): void {
  for (const name of more) if (names.length < MAX_NAMES && !names.includes(name)) names.push(name);
}

function countOutcome(row: WatchedRow, { at, hasFailed }: DeliveryOutcome): void {
  const hour = Math.floor(at / HOUR_MS);
  const place = row.hours.findLastIndex(([one]) => one <= hour);
  const known = row.hours[place];
  if (known?.[0] === hour) {
    known[1] += hasFailed ? 1 : 0;
    known[2]++;
  } else row.hours.splice(place + 1, 0, [hour, hasFailed ? 1 : 0, 1]);
}

function factsOf(row: WatchedRow, history: RowHistory, change: RowChangeName): RowFacts {
  const { hours, silence, endpoint } = row;
  const { run, lastFailed, lastError, lastSuccess, recent } = history;
  const isOpen = run !== null && endpoint === 'on';
  return {
    state: isOpen ? 'failing' : change,
    failed: hours.reduce((sum, [, failed]) => sum + failed, 0),
    events: hours.reduce((sum, [, , events]) => sum + events, 0),
    failingSince: isOpen ? run.since : null,
    edge: isOpen && run.edge,
    lastFailed,
    lastError,
    lastSuccess,
    silentSince: silence?.since ?? null,
    usualGapSeconds: silence?.usualGapSeconds ?? null,
    recent,
  };
}

const CHANGES: readonly unknown[] = ['recovered', ...ALARM_LEVELS.filter((level) => level !== 'fine')];

export function areKeptRows(value: unknown): value is KeptRows {
  if (!isObject(value)) return false;
  const { isRead, rows, pending } = value;
  return (
    typeof isRead === 'boolean' &&
    Array.isArray(rows) &&
    rows.every((pair) => Array.isArray(pair) && typeof pair[0] === 'string' && isKeptRow(pair[1])) &&
    Array.isArray(pending) &&
    pending.every((one) => isObject(one) && typeof one['key'] === 'string' && CHANGES.includes(one['change']))
  );
}

function isKeptRow(value: unknown): value is WatchedRow {
  if (!isObject(value)) return false;
  const { settled, unsettled, hours, names, endpoint, reported } = value;
  return (
    isObject(settled) &&
    Number.isFinite(settled['lastMs']) &&
    typeof settled['recent'] === 'string' &&
    (settled['run'] === null || isObject(settled['run'])) &&
    [unsettled, hours, names].every(Array.isArray) &&
    ['on', 'off', 'gone'].includes(String(endpoint)) &&
    isObject(reported) &&
    ALARM_LEVELS.some((level) => level === reported['level'])
  );
}
