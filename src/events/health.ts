import type { Call } from '../command.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { exactValue } from '../json/item-conditions.ts';
import { createCursor, type FieldPath, MISSING, memberPath } from '../json/item-fields.ts';
import type { Items } from '../json/items.ts';
import type { Instant } from '../time/instant.ts';
import { type SourceOptions, windowOf, withEventSource } from './event-source.ts';
import { sortRows, TimeColumn } from './event-table.ts';

/** `failing`: the newest event failed. `recovered`: an earlier one did. */
export type HealthState = 'failing' | 'recovered' | 'ok';

/** The deliveries of a subscription, or of another value's events. */
export interface Health {
  /** Null for events without the field. A number that JavaScript cannot hold is a text. */
  readonly value: unknown;
  readonly state: HealthState;
  readonly failed: number;
  readonly events: number;
  /** The first of the failures that no success follows. */
  readonly failingSince: Instant | undefined;
  readonly lastSuccess: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  /** `F` or `S` for each of the last ten events, newest first. */
  readonly recent: string;
}

export interface HealthReport {
  /** The service's host, or the place of stored events. */
  readonly name: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly by: FieldPath;
  /** Failing first. */
  readonly rows: readonly Health[];
}

/** By default the field of an event that the service filters by (service description, part 4). */
const SUBSCRIPTION = memberPath('subscriptionId');
const MOST_VALUES = 100_000;
const RECENT_EVENTS = 10;

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
    const tally = new HealthTally(by);
    for await (const { items, haveFailed } of source.readOutcomes(source.filters, source.window))
      tally.add(items, haveFailed);
    if (tally.events === 0) source.doubt();
    else if (!tally.isFound) call.reporter.warning(`--by: no event has the field '${by.text}'`);
    const { after, before } = windowOf(source, tally.bounds, call.context.clock);
    return { name: source.name, after, before, by, rows: tally.rows() };
  });
}

/** The outcomes of events by the value of a field; about 20 bytes an event. */
class HealthTally {
  readonly #by: FieldPath;
  readonly #cursor;
  readonly #codes = new Map<string, number>();
  /** Of each event twice the code of its value, and one more if it failed. */
  readonly #outcomes: number[] = [];
  readonly #times = new TimeColumn();
  isFound = false;

  constructor(by: FieldPath) {
    this.#by = by;
    this.#cursor = createCursor([by, memberPath('publishStatus'), memberPath('createdOn')]);
  }

  get events(): number {
    return this.#outcomes.length;
  }

  get bounds(): { first: Instant | undefined; last: Instant | undefined } {
    const rows = this.#newestFirst().filter((row) => this.#times.isKnown(row));
    if (rows.length === 0) return { first: undefined, last: undefined };
    return { first: this.#times.at(rows.at(-1) as number), last: this.#times.at(rows[0] as number) };
  }

  /** Throws `ServiceError` if the field has too many values. */
  add(items: Items, haveFailed: boolean | undefined): void {
    const { bytes, count } = items;
    for (let item = 0; item < count; item++) {
      const cursor = this.#cursor;
      cursor.read(bytes, items.start(item));
      const [value = MISSING, , createdOn = MISSING] = cursor.starts;
      if (value !== MISSING) this.isFound = true;
      const text = value === MISSING ? 'null' : bytes.toString('utf8', value, cursor.ends[0]);
      let code = this.#codes.get(text);
      if (code === undefined) {
        if (this.#codes.size === MOST_VALUES) throw this.#tooMany();
        code = this.#codes.size;
        this.#codes.set(text, code);
      }
      const row = this.#outcomes.length;
      this.#times.begin(row);
      if (createdOn !== MISSING) this.#times.set(row, bytes, createdOn, cursor.ends[2] as number);
      this.#outcomes.push(2 * code + Number(haveFailed ?? cursor.text(1) === 'FAILED'));
    }
  }

  rows(): Health[] {
    const tallies = new Map<number, HealthCounts>();
    for (const row of this.#newestFirst()) {
      const outcome = this.#outcomes[row] as number;
      const tally = tallies.get(outcome >> 1) ?? { events: 0, failed: 0, recent: '' };
      tallies.set(outcome >> 1, tally);
      const hasFailed = outcome % 2 === 1;
      tally.events++;
      if (hasFailed) tally.failed++;
      if (tally.recent.length < RECENT_EVENTS) tally.recent += hasFailed ? 'F' : 'S';
      if (!this.#times.isKnown(row)) continue;
      if (hasFailed && tally.lastSuccess === undefined && !tally.recent.includes('S'))
        tally.failingSince = row;
      if (hasFailed) tally.lastFailed ??= row;
      else tally.lastSuccess ??= row;
    }
    const at = (row: number | undefined) => (row === undefined ? undefined : this.#times.at(row));
    const values = [...this.#codes.keys()];
    const found = [...tallies].map(
      ([code, { events, failed, recent, failingSince, lastSuccess, lastFailed }]): Health => ({
        value: exactValue(values[code] as string),
        state: recent.startsWith('F') ? 'failing' : failed > 0 ? 'recovered' : 'ok',
        failed,
        events,
        failingSince: at(failingSince),
        lastSuccess: at(lastSuccess),
        lastFailed: at(lastFailed),
        recent,
      }),
    );
    return found.sort(byUrgency);
  }

  #tooMany(): ServiceError {
    return new ServiceError(`--by ${this.#by.text}: more than ${MOST_VALUES} values`, {
      next: 'name a field with fewer different values, or narrow the search',
    });
  }

  #newestFirst(): number[] {
    return sortRows([...this.#outcomes.keys()], this.#times).reverse();
  }
}

interface HealthCounts {
  events: number;
  failed: number;
  recent: string;
  /** Rows. */
  failingSince?: number;
  lastSuccess?: number;
  lastFailed?: number;
}

const STATES: readonly HealthState[] = ['failing', 'recovered', 'ok'];

function byUrgency(a: Health, b: Health): number {
  return (
    STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
    b.failed - a.failed ||
    b.events - a.events ||
    (JSON.stringify(a.value) < JSON.stringify(b.value) ? -1 : 1)
  );
}

/** The rows that `events health --json` prints. */
export function healthJson({ rows }: HealthReport) {
  return rows.map(({ value, state, failed, events, failingSince, lastSuccess, lastFailed, recent }) => ({
    value,
    state,
    failed,
    events,
    failingSince: failingSince?.text ?? null,
    lastSuccess: lastSuccess?.text ?? null,
    lastFailed: lastFailed?.text ?? null,
    recent,
  }));
}
