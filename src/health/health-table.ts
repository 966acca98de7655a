import { ServiceError } from '../errors.ts';
import { exactValue } from '../items/exact-numbers.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import type { Items } from '../items/items.ts';
import { noSuchField } from '../items/near-field.ts';
import { createWhoReader } from '../names/who.ts';
import { latestRun } from '../outcomes/failure-runs.ts';
import { GroupedValues } from '../outcomes/grouped-values.ts';
import { OUTCOMES } from '../outcomes/outcome-names.ts';
import { sortRows, TimeColumn } from '../outcomes/time-column.ts';
import type { Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { FailureReasons } from './failure-reasons.ts';
import type { Health, UnnamedHealth } from './health-row.ts';

const MOST_VALUES = 100_000;
const RECENT_EVENTS = 10;
/** Names of one row that are counted. */
const MOST_NAMES = 100;
const UNORDERED =
  'events have no time, and the service lists failed ones apart: which are the newest is not known, and failing means that any failed';

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
  readonly #reasons = new FailureReasons();
  readonly #whoOf;
  readonly #isFound: boolean[];
  #isSplit = false;
  #sample: Items | undefined;

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
    const names = this.#whoOf?.(items.bytes, items.start(item)).names ?? [];
    for (const group of this.#groupsOfEvent()) {
      group.rows.push(row);
      for (const name of names) if (group.names.size < MOST_NAMES) group.names.add(name);
    }
    if (hasFailed) this.#reasons.note(row, items, item);
  }

  /** A warning for each field that no event has, and one if the newest events are not known. */
  doubts(): string[] {
    if (this.events === 0) return [];
    const sample = this.#sample as Items;
    const unknown = this.#by.filter((_, index) => !this.#isFound[index]);
    const misspelt = unknown.map((field) => `--by: ${noSuchField(field, sample)}`);
    return this.#isSplit && !this.times.bounds.last ? [...misspelt, UNORDERED] : misspelt;
  }

  rows(): UnnamedHealth[] {
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

  /**
   * The rows of a group, newest first. Events without a time stay as they are listed, which is newest first
   * as a rule.
   */
  #newestFirst(rows: number[]): number[] {
    const isKnown = (row: number) => this.times.isKnown(row);
    const known = sortRows(rows.filter(isKnown), this.times).reverse();
    return [...known, ...rows.filter((row) => !isKnown(row))];
  }

  #healthOf(key: string, { rows, names }: Group): UnnamedHealth {
    const newestFirst = this.#newestFirst(rows);
    const failed = newestFirst.filter((row) => this.#failures[row]);
    const delivered = newestFirst.filter((row) => !this.#failures[row]);
    const run = this.#openRun(newestFirst.toReversed());
    return {
      key,
      values: this.#by.length === 0 ? [] : key.split('\n').map(exactValue),
      state: stateOf(run !== undefined, failed.length),
      failed: failed.length,
      events: rows.length,
      failingSince: run && this.#firstTime(run.failures),
      edge: run?.isAtEdge ?? false,
      firstFailed: this.#firstTime(failed.toReversed()),
      lastFailed: this.#firstTime(failed),
      lastError: this.#reasons.firstOf(failed),
      lastSuccess: this.#firstTime(delivered),
      silentSince: undefined,
      usualGapSeconds: undefined,
      recent: this.#marksOf(newestFirst.slice(0, RECENT_EVENTS)),
      who: shownName(names),
      isShared: names.size > 1,
    };
  }

  /** The run of failures that goes on at the end of some rows, with its rows that failed. */
  #openRun(
    oldestFirst: readonly number[],
  ): { readonly failures: number[]; readonly isAtEdge: boolean } | undefined {
    const hasFailed = (row: number) => this.#failures[row] === true;
    const run = latestRun(oldestFirst.length, (index) => hasFailed(oldestFirst[index] as number));
    if (!run || run.end !== undefined) return undefined;
    return { failures: oldestFirst.slice(run.start).filter(hasFailed), isAtEdge: run.isAtEdge };
  }

  /** The time of the first of some rows that says its own. */
  #firstTime(rows: readonly number[]): Instant | undefined {
    return this.times.at(rows.find((row) => this.times.isKnown(row)));
  }

  #marksOf(rows: readonly number[]): string {
    return rows.map((row) => (this.#failures[row] ? 'F' : 'S')).join('');
  }
}

function stateOf(isFailing: boolean, failed: number): Health['state'] {
  if (isFailing) return 'failing';
  return failed > 0 ? 'recovered' : 'ok';
}

/** The first of some names, with the number of the others. */
function shownName(names: ReadonlySet<string>): string | null {
  const [first] = names;
  if (first === undefined) return null;
  return names.size === 1 ? first : `${first} and ${names.size - 1} more`;
}
