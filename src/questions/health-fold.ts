import { ServiceError } from '../errors.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import type { Items } from '../items/items.ts';
import { UnseenFields } from '../items/near-field.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import { sortRows, TimeColumn } from '../items/time-column.ts';
import { createWhoReader } from '../names/who.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import { latestRun } from '../statistics/failure-runs.ts';
import type { Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { FailureReasons } from './failure-reasons.ts';
import type { Fold } from './fold.ts';
import { GroupedValues, MAX_GROUPS, valuesOfKey } from './grouped-values.ts';
import { type Health, shownNames, type UnnamedHealth } from './health-row.ts';

const RECENT_EVENTS = 10;
/** Maximum names counted for a row. */
const MAX_NAMES = 100;

interface Group {
  readonly rows: number[];
  readonly names: Set<string>;
}

export type Grouping = readonly FieldPath[];

interface Groups {
  readonly by: Grouping;
  readonly values: GroupedValues;
  readonly byKey: Map<string, Group>;
  readonly isNamed: boolean;
}

export class HealthFold implements Fold<UnnamedHealth[]> {
  readonly times = new TimeColumn();
  unknownOutcomes = 0;
  readonly #reader;
  readonly #groupings: readonly Groups[];
  readonly #fields: number;
  readonly #failures: boolean[] = [];
  readonly #reasons = new FailureReasons();
  readonly #whoOf;
  #isSplit = false;
  readonly #unseen;

  constructor(groupings: readonly Grouping[], zone: TimeZone, nameField?: FieldPath) {
    const fields = groupings.flat();
    this.#fields = fields.length;
    this.#reader = new FieldReader([...fields, memberPath('publishStatus'), memberPath('createdOn')], zone);
    this.#unseen = new UnseenFields(groupings[0] ?? [], this.#reader);
    let first = 0;
    this.#groupings = groupings.map((by) => {
      const values = new GroupedValues(this.#reader, by.length, first);
      first += by.length;
      const isNamed = by.every(({ text }) => text !== nameField?.text);
      return { by, values, byKey: new Map<string, Group>(), isNamed };
    });
    this.#whoOf = nameField && createWhoReader(nameField);
  }

  get events(): number {
    return this.#failures.length;
  }

  hasFailed(row: number): boolean {
    return this.#failures[row] === true;
  }

  /** Throws `ServiceError` if there are too many groups. */
  see({ items, haveFailed }: PageOfOutcomes): void {
    this.#unseen.see(items);
    if (haveFailed !== undefined) this.#isSplit = true;
    const { bytes, count } = items;
    for (let item = 0; item < count; item++) {
      this.#reader.read(bytes, items.start(item));
      this.#unseen.noteItem();
      const outcome = haveFailed ?? parseOutcome(this.#reader.text(this.#fields));
      if (outcome === undefined) this.unknownOutcomes++;
      else this.#addEvent(items, item, outcome);
    }
    for (const groups of this.#groupings) if (groups.byKey.size > MAX_GROUPS) throw tooMany(groups);
  }

  #addEvent(items: Items, item: number, hasFailed: boolean): void {
    const row = this.times.push(this.#reader.text(this.#fields + 1) ?? '');
    this.#failures.push(hasFailed);
    const names = this.#whoOf?.(items.bytes, items.start(item)).names ?? [];
    for (const groups of this.#groupings)
      for (const group of groupsOfEvent(groups)) {
        group.rows.push(row);
        if (groups.isNamed) addNames(group, names);
      }
    if (hasFailed) this.#reasons.note(row, items, item);
  }

  /** Warns of fields of the first grouping that no event has. */
  doubts(): string[] {
    return this.events === 0 ? [] : this.#unseen.doubts().map((doubt) => `--by: ${doubt}`);
  }

  /** True if no event has a time. */
  get isUnordered(): boolean {
    return this.events > 0 && this.#isSplit && !this.times.bounds.last;
  }

  result(grouping = 0): UnnamedHealth[] {
    const groups = this.#groupings[grouping];
    if (!groups) return [];
    return [...groups.byKey].map(([key, group]) => this.#healthOf(key, group));
  }

  instants(): Map<string, Instant[]> {
    const ofGroup = ({ rows }: Group) =>
      rows.flatMap((row) => (this.times.isKnown(row) ? [this.times.at(row)] : []));
    const groups = this.#groupings[0]?.byKey ?? new Map<string, Group>();
    return new Map([...groups].map(([key, group]) => [key, ofGroup(group)]));
  }

  /** Newest first. Events without a time keep their listed order, which usually is newest first. */
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
      values: valuesOfKey(key),
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
      who: shownNames([...names]),
      isShared: names.size > 1,
    };
  }

  /** The current run of failures; undefined if it has ended. */
  #openRun(
    oldestFirst: readonly number[],
  ): { readonly failures: number[]; readonly isAtEdge: boolean } | undefined {
    const hasFailed = (row: number) => this.hasFailed(row);
    const run = latestRun(oldestFirst.length, (index) => hasFailed(oldestFirst[index] as number));
    if (!run || run.end !== undefined) return undefined;
    return { failures: oldestFirst.slice(run.start).filter(hasFailed), isAtEdge: run.isAtEdge };
  }

  #firstTime(rows: readonly number[]): Instant | undefined {
    return this.times.at(rows.find((row) => this.times.isKnown(row)));
  }

  #marksOf(rows: readonly number[]): string {
    return rows.map((row) => (this.#failures[row] ? 'F' : 'S')).join('');
  }
}

function addNames(group: Group, names: readonly string[]): void {
  for (const name of names) if (group.names.size < MAX_NAMES) group.names.add(name);
}

function groupsOfEvent(groups: Groups): Group[] {
  const keys = groups.values.keysOfEvent();
  if (!keys) throw tooMany(groups);
  return keys.map((key) => groupOf(groups, key));
}

function groupOf({ byKey }: Groups, key: string): Group {
  const known = byKey.get(key);
  if (known) return known;
  const group = { rows: [], names: new Set<string>() };
  byKey.set(key, group);
  return group;
}

function tooMany({ by }: Groups): ServiceError {
  const fields = by.map(({ text }) => text).join();
  return new ServiceError(`--by ${fields}: more than ${MAX_GROUPS} values`, {
    next: 'name a field with fewer different values, or narrow the search',
  });
}

function stateOf(isFailing: boolean, failed: number): Health['state'] {
  if (isFailing) return 'failing';
  return failed > 0 ? 'recovered' : 'ok';
}
