const HOUR = 3_600_000;

// Traffic by hour of the day (UTC): people sign documents at work, machines send reminders at night.
const byHour = [8, 6, 5, 5, 7, 14, 30, 58, 86, 98, 100, 92, 78, 88, 96, 90, 80, 62, 44, 34, 27, 20, 15, 11];
const byDay = [0.18, 1, 1.06, 1.04, 1, 0.86, 0.24];

/** How events spread over a span of time: by day of the week and hour of the day. */
export class TrafficRhythm {
  readonly start: number;
  readonly end: number;
  /** Weight up to the start of each hour of the span, and up to its end. */
  readonly #upTo: number[] = [0];

  constructor(end: number, days: number) {
    this.end = end;
    this.start = end - days * 24 * HOUR;
    for (let hour = this.start; hour < end; hour += HOUR) {
      const date = new Date(hour);
      const weight = (byHour[date.getUTCHours()] as number) * (byDay[date.getUTCDay()] as number);
      this.#upTo.push((this.#upTo.at(-1) as number) + weight);
    }
  }

  /** The share of all events that falls between two times in milliseconds. */
  share(from: number, to: number): number {
    return (this.#weightUpTo(to) - this.#weightUpTo(from)) / (this.#upTo.at(-1) as number);
  }

  /** Yields `count` times in milliseconds with fractions, ascending; `jitter` gives numbers from 0 to 1. */
  *times(count: number, jitter: () => number): Generator<number> {
    const total = this.#upTo.at(-1) as number;
    let hour = 0;
    for (let index = 0; index < count; index++) {
      const weight = ((index + jitter()) / count) * total;
      while (hour + 2 < this.#upTo.length && (this.#upTo[hour + 1] as number) <= weight) hour++;
      const before = this.#upTo[hour] as number;
      yield this.start + (hour + (weight - before) / ((this.#upTo[hour + 1] as number) - before)) * HOUR;
    }
  }

  #weightUpTo(time: number): number {
    const hours = Math.min(Math.max((time - this.start) / HOUR, 0), this.#upTo.length - 1);
    const hour = Math.min(Math.floor(hours), this.#upTo.length - 2);
    const before = this.#upTo[hour] as number;
    return before + (hours - hour) * ((this.#upTo[hour + 1] as number) - before);
  }
}
