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
      await this.#stdout.write(lines, true);
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
/** Warnings of a kind in an interval. */
const MOST_WARNINGS = { rejected: 1, failed: 20 } as const;
type ProblemKind = keyof typeof MOST_WARNINGS;

/** The warnings of a kind in one interval. */
interface Interval {
  printed: number;
  left: number;
  /** The text and the next step of the latest that was not printed. */
  latest?: [string, string | undefined];
}

/**
 * Limits warnings that may come a thousand times per second: prints so many of a kind per second, then the latest, with
 * the number of the others.
 */
export class ProblemLog {
  readonly #reporter: Pick<Reporter, 'warning'>;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  /** Of each kind, the number printed in this interval, and what was not. */
  readonly #intervals = new Map<ProblemKind, Interval>();

  constructor(reporter: Pick<Reporter, 'warning'>, clock: Clock) {
    this.#reporter = reporter;
    this.#clock = clock;
  }

  report(kind: ProblemKind, text: string, next?: string): void {
    const interval = this.#intervals.get(kind) ?? this.#begin(kind);
    if (interval.printed++ < MOST_WARNINGS[kind]) this.#reporter.warning(text, { kind: 'incomplete', next });
    else {
      interval.left++;
      interval.latest = [text, next];
    }
  }

  /** Prints the warnings that wait. */
  close(): void {
    this.#closed.abort();
    for (const kind of [...this.#intervals.keys()]) this.#end(kind);
  }

  #begin(kind: ProblemKind) {
    const interval: Interval = { printed: 0, left: 0 };
    this.#intervals.set(kind, interval);
    this.#clock.sleep(INTERVAL_MS, this.#closed.signal).then(
      () => this.#end(kind),
      () => undefined,
    );
    return interval;
  }

  #end(kind: ProblemKind): void {
    const { left = 0, latest } = this.#intervals.get(kind) ?? {};
    this.#intervals.delete(kind);
    if (!latest) return;
    const more = left === 1 ? '' : ` (and ${left - 1} more since the last warning)`;
    this.report(kind, `${latest[0]}${more}`, latest[1]);
  }
}
