import type { Clock, Output } from '../context.ts';
import type { Palette } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type Delivery, shownId } from './delivery.ts';
import type { HandlerAnswer } from './forward.ts';

/** The outcome of a delivery or of a recovered event. */
export interface Ended {
  readonly delivery: Delivery;
  readonly outcome: 'accepted' | 'duplicate' | 'refused';
  /** The handler's answer; undefined if it was not asked. */
  readonly answer?: HandlerAnswer | undefined;
  readonly ms: number;
}

/** Counts since the start; `--health` shows them. */
export interface DeliveryCounts {
  accepted: number;
  duplicates: number;
  /** Deliveries that the handler did not accept, or that could not be journaled: the service sends them again. */
  failed: number;
  /** Requests that were rejected for a wrong token, no JSON or no `eventId`. */
  rejected: number;
  /** The number of accepted events that a search found because their delivery never came. */
  recovered: number;
}

const NEWLINE = Buffer.from('\n');

/**
 * Prints accepted deliveries on standard output: as one line of JSON each, or on a terminal as a summary line. Lines
 * that arrive together share one write.
 */
export class DeliveryLog {
  readonly counts: DeliveryCounts = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };
  readonly #stdout: Output;
  readonly #clock: Clock;
  readonly #palette: Palette;
  readonly #zone: TimeZone;
  #waiting: Buffer[] = [];
  /** The write of the waiting lines; undefined while there are none. */
  #batch: Promise<void> | undefined;
  #latest: Promise<void> = Promise.resolve();

  constructor(stdout: Output, clock: Clock, palette: Palette, zone: TimeZone) {
    this.#stdout = stdout;
    this.#clock = clock;
    this.#palette = palette;
    this.#zone = zone;
  }

  /**
   * Prints a delivery, and resolves when standard output has accepted the whole line. Prints nothing on a terminal,
   * where `ended` prints the line.
   */
  async print(delivery: Delivery): Promise<void> {
    if (!this.#stdout.isTerminal) await this.#write(delivery.line());
  }

  /** Counts a delivery, and prints its line on a terminal. */
  ended(ended: Ended): void {
    if (ended.outcome === 'accepted') this.counts.accepted++;
    else if (ended.outcome === 'duplicate') this.counts.duplicates++;
    else this.counts.failed++;
    if (!this.#stdout.isTerminal) return;
    const { columns } = this.#stdout;
    const line = liveLine(ended, this.#clock.now(), this.#zone, columns, this.#palette);
    this.#write(Buffer.from(line)).catch(() => undefined);
  }

  /** Resolves when everything is printed. */
  async flushed(): Promise<void> {
    await this.#latest;
  }

  #write(line: Buffer): Promise<void> {
    this.#waiting.push(line, NEWLINE);
    this.#batch ??= this.#after(this.#latest);
    return this.#batch;
  }

  #after(earlier: Promise<void>): Promise<void> {
    this.#latest = earlier.then(async () => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const lines = Buffer.concat(this.#waiting);
      this.#waiting = [];
      this.#batch = undefined;
      await this.#stdout.write(lines);
    });
    return this.#latest;
  }
}

/** From the first width on an id is whole, and from the second on the milliseconds are shown. */
const [WHOLE_ID_COLUMNS, DURATION_COLUMNS] = [80, 100];
const [LEAST_TYPE_COLUMNS, MOST_TYPE_COLUMNS] = [8, 32];

/** `12:00:01  order.created  0f8fad5b-…  200  12 ms`; in another zone than UTC the time has an offset. */
function liveLine(ended: Ended, now: number, zone: TimeZone, columns: number, palette: Palette): string {
  const { delivery, outcome, ms } = ended;
  const paint = { accepted: palette.good, duplicate: palette.dim, refused: palette.bad }[outcome];
  const time = zone.shown(new Date(now).toISOString().slice(0, 19)).slice(11);
  const id = columns < WHOLE_ID_COLUMNS ? cut(delivery.eventId, 8) : shownId(delivery.eventId).padEnd(36);
  const said = saidText(ended).padEnd(9);
  const took = columns < DURATION_COLUMNS ? '' : `${Math.round(ms)} ms`.padStart(8);
  const room = columns - time.length - 36 - said.length - took.length - 8;
  const type = cut(delivery.type(), Math.min(Math.max(room, LEAST_TYPE_COLUMNS), MOST_TYPE_COLUMNS));
  const line = `${palette.dim(time)}  ${type}  ${id}  `;
  return took === '' ? line + paint(said.trimEnd()) : `${line}${paint(said)}  ${palette.dim(took)}`;
}

/** Returns the text in so many columns, escaped to stay on one line. */
function cut(text: string, columns: number): string {
  const line = terminalSafeLine(text);
  return line.length <= columns ? line.padEnd(columns) : `${line.slice(0, columns - 1)}…`;
}

/** Returns a status, or a word for the outcome. If there was no answer, the warning on standard error says why. */
function saidText({ outcome, answer }: Ended): string {
  if (outcome === 'duplicate' || answer === undefined) return outcome;
  return answer.status === undefined ? 'no answer' : String(answer.status);
}

/** `12 accepted, 3 duplicates, 1 failed, 2 rejected; 4 of the accepted were recovered`. */
export function summaryText({ accepted, duplicates, failed, rejected, recovered }: DeliveryCounts): string {
  const parts = [
    `${accepted} accepted`,
    `${duplicates} ${duplicates === 1 ? 'duplicate' : 'duplicates'}`,
    `${failed} failed`,
    `${rejected} rejected`,
  ];
  const also =
    recovered === 0 ? '' : `; ${recovered} of the accepted ${recovered === 1 ? 'was' : 'were'} recovered`;
  return parts.join(', ') + also;
}

const INTERVAL_MS = 1_000;

/**
 * Limits warnings that may come a thousand times per second: prints so many per second, then the latest, with the number
 * of the others.
 */
export class ProblemLog {
  readonly #reporter: Pick<Reporter, 'warning'>;
  readonly #clock: Clock;
  readonly #perInterval: number;
  readonly #closed = new AbortController();
  /** The latest warning that was not printed. */
  #latest: { readonly text: string; readonly next: string | undefined } = { text: '', next: undefined };
  #left = 0;
  /** Those of this interval; undefined before it begins. */
  #printed: number | undefined;

  constructor(reporter: Pick<Reporter, 'warning'>, clock: Clock, perInterval: number) {
    this.#reporter = reporter;
    this.#clock = clock;
    this.#perInterval = perInterval;
  }

  report(text: string, next?: string): void {
    if ((this.#printed ?? 0) < this.#perInterval) this.#print(text, next);
    else {
      this.#latest = { text, next };
      this.#left++;
    }
  }

  /** Prints the last warning that waits. */
  close(): void {
    this.#closed.abort();
    this.#printLatest();
  }

  #print(text: string, next: string | undefined): void {
    this.#reporter.warning(text, { kind: 'incomplete', next });
    if (this.#printed !== undefined) {
      this.#printed++;
      return;
    }
    this.#printed = 1;
    const begin = () => {
      this.#printed = undefined;
      this.#printLatest();
    };
    this.#clock.sleep(INTERVAL_MS, this.#closed.signal).then(begin, () => undefined);
  }

  #printLatest(): void {
    if (this.#left === 0) return;
    const more = this.#left === 1 ? '' : ` (and ${this.#left - 1} more since the last warning)`;
    this.#left = 0;
    this.#print(`${this.#latest.text}${more}`, this.#latest.next);
  }
}
