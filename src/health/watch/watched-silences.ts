import type { Call } from '../../command.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { valuesOfKey } from '../../questions/grouped-values.ts';
import { findSilences } from '../../questions/silence.ts';
import { SHORTEST_SILENCE_MS } from '../../questions/silent-rows.ts';
import { withEventSource } from '../../sources/event-source.ts';
import { silenced } from '../../terminal/reporter.ts';
import { type Instant, instantAt, parseInstant } from '../../time/instant.ts';
import { HOUR_MS } from '../../time/lengths.ts';
import { filtersOfRow, SUBSCRIPTION } from '../health-subject.ts';
import type { WatchedRow, WatchedRows } from './watched-rows.ts';

/** Interval between checks of a row without events. */
const CHECK_INTERVAL_MS = HOUR_MS;
/** Maximum rows checked at once. */
const MAX_CHECKED = 100;

/** Asks the service about subscriptions without events, each once an hour. */
export class WatchedSilences {
  readonly #rows: WatchedRows;
  readonly #filters: EventFilters;
  readonly #concurrency: number;
  readonly #call: Call;
  /** Time of the last check (milliseconds), by row key. */
  readonly #checkedAt = new Map<string, number>();

  constructor(rows: WatchedRows, filters: EventFilters, concurrency: number, call: Call) {
    this.#rows = rows;
    this.#filters = filters;
    this.#concurrency = concurrency;
    this.#call = call;
  }

  /** Never rejects for errors of the service, since a later look may succeed. */
  async look(now: number): Promise<void> {
    // Reading weeks of events costs too much.
    if (this.#filters.runHere) return;
    const due = [...this.#rows.rows].filter(([key, row]) => this.#isDue(key, row, now)).slice(0, MAX_CHECKED);
    if (due.length === 0) return;
    for (const [key] of due) this.#checkedAt.set(key, now);
    const watched = due.flatMap(([key, row]) => {
      const chosen = filtersOfRow(this.#filters, SUBSCRIPTION, valuesOfKey(key));
      const { last } = this.#rows.historyOf(row);
      return chosen ? [{ key, chosen, last: last === null ? undefined : parseInstant(last) }] : [];
    });
    const { context, reporter } = this.#call;
    const whole = {
      filters: this.#filters.withoutTimes(),
      from: undefined,
      concurrency: this.#concurrency,
    };
    const asked = withEventSource({ ...this.#call, reporter: silenced(reporter) }, whole, (source) =>
      findSilences(source, watched, instantAt(now) as Instant),
    );
    const silences = await asked.catch((error: Error) => {
      context.signal.throwIfAborted();
      reporter.trace(`silences are looked for again later: ${error.message}`);
      return undefined;
    });
    for (const [{ key }, silence] of silences ?? []) this.#rows.setSilence(key, silence);
  }

  #isDue(key: string, row: WatchedRow, now: number): boolean {
    const { lastMs } = this.#rows.historyOf(row);
    const isQuiet = row.endpoint === 'on' && row.silence === null && row.reported.level === 'fine';
    const checkedAt = this.#checkedAt.get(key) ?? Number.NEGATIVE_INFINITY;
    // If there are no events in the window, one check is enough.
    const isDue = lastMs === 0 ? !this.#checkedAt.has(key) : now - checkedAt >= CHECK_INTERVAL_MS;
    return isQuiet && isDue && now - lastMs > SHORTEST_SILENCE_MS;
  }
}
