import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { offsetMsIn, readDateTime } from './date-time.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from './lengths.ts';

/** Cached offsets: computing one takes microseconds, and there may be millions of events. */
const REMEMBERED = 10_000;

/**
 * A zone for reading and printing times. Times are milliseconds since the epoch; a wall time is the zone's
 * clock time as if it were UTC. Offsets are whole minutes: offsets before 1972 lose their seconds.
 */
export class TimeZone {
  readonly name: string;
  readonly isUtc: boolean;
  readonly #format: Intl.DateTimeFormat | undefined;
  readonly #offsets = new Map<number, number>();

  /** Throws `RangeError` for a name unknown to the platform. */
  constructor(name: string) {
    this.name = name;
    this.isUtc = name === 'UTC';
    if (!this.isUtc)
      this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  /** Milliseconds by which the clock is ahead of UTC. */
  offsetAt(time: number): number {
    if (!this.#format) return 0;
    const day = Math.floor(time / DAY_MS) * DAY_MS;
    const offset = this.#offsetAtMinute(day);
    // No clock changes twice within a day.
    return offset === this.#offsetAtMinute(day + DAY_MS) ? offset : this.#offsetAtMinute(time);
  }

  #offsetAtMinute(time: number): number {
    const minute = Math.floor(time / MINUTE_MS);
    let offset = this.#offsets.get(minute);
    if (offset === undefined) {
      offset = offsetMsIn((this.#format as Intl.DateTimeFormat).format(minute * MINUTE_MS));
      if (this.#offsets.size === REMEMBERED) this.#offsets.clear();
      this.#offsets.set(minute, offset);
    }
    return offset;
  }

  /**
   * Returns the times at which the clock shows a wall time, earliest first. There are two when clocks are put
   * back over it. When clocks are put forward over it, returns the time of that change.
   */
  timesAt(wall: number): readonly number[] {
    // No zone is more than 14 hours away from UTC, and no clock changes twice within two days.
    const [earlier, later] = [wall - DAY_MS, wall + DAY_MS];
    const offsets = new Set([this.offsetAt(earlier), this.offsetAt(later)]);
    const times = [...offsets].map((offset) => wall - offset);
    const shown = times.filter((time) => time + this.offsetAt(time) === wall);
    return shown.length > 0 ? shown : [this.#changeBetween(earlier, later)];
  }

  /** Bisects for the first full minute with the later offset. */
  #changeBetween(earlier: number, later: number): number {
    let [low, high] = [Math.floor(earlier / MINUTE_MS), Math.ceil(later / MINUTE_MS)];
    const after = this.offsetAt(later);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle * MINUTE_MS) === after) high = middle;
      else low = middle;
    }
    return high * MINUTE_MS;
  }

  /**
   * Converts a date-time of ISO 8601 to this zone, with its offset and every digit. Returns other texts
   * unchanged, such as a wall-clock time, which has no offset.
   */
  shown(text: string): string {
    if (this.isUtc && text.endsWith('Z') && text[10] === 'T') return text;
    const read = readDateTime(text);
    if (read?.zone === undefined) return text;
    const at = read.wallSeconds * SECOND_MS - offsetMsIn(read.zone);
    const offset = this.offsetAt(at);
    const wall = new Date(at + offset).toISOString();
    if (!/^\d{4}-/.test(wall)) return text;
    const fraction = read.fraction === '' ? '' : `.${read.fraction}`;
    return `${wall.slice(0, 19)}${fraction}${this.isUtc ? 'Z' : offsetText(offset)}`;
  }
}

export const UTC = new TimeZone('UTC');

export function offsetText(offset: number): string {
  const minutes = Math.abs(offset) / MINUTE_MS;
  const digits = (number: number) => String(Math.floor(number)).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}

/** UTC if the machine's zone is unknown. */
export function localZone(context: Pick<Context, 'machine'>): TimeZone {
  try {
    return zoneOf('local', context);
  } catch {
    return UTC;
  }
}

/** `local` is the machine's zone. Throws `UsageError` if that is unknown. */
export function zoneOf(name: string, { machine }: Pick<Context, 'machine'>): TimeZone {
  const meant = name === 'local' ? machine.timezone : name;
  if (/^(UTC|Etc\/UTC)$/.test(meant)) return UTC;
  try {
    return new TimeZone(meant);
  } catch (cause) {
    throw new UsageError(`--timezone local: this machine's zone '${meant}' is unknown`, {
      next: 'give its name, as in --timezone Europe/Berlin',
      cause,
    });
  }
}

/**
 * Returns `UTC`, `local`, or a name of the IANA database in its usual spelling; undefined for other texts.
 */
export function zoneNamed(text: string): string | undefined {
  const name = text.trim();
  if (/^(UTC|Etc\/UTC)$/i.test(name)) return 'UTC';
  if (/^local$/i.test(name)) return 'local';
  // Newer platforms also accept offsets such as +02:00, which ignore clock changes.
  if (!/[a-z]/i.test(name) || !isZone(name)) return undefined;
  const names = [...Intl.supportedValuesOf('timeZone'), ...RENAMED];
  return names.find((known) => known.toLowerCase() === name.toLowerCase()) ?? name;
}

export function zoneNames(): string[] {
  // Platforms list some zones only by their former names, but accept both.
  const all = [...Intl.supportedValuesOf('timeZone'), ...RENAMED.filter(isZone)];
  return [...new Set(['UTC', 'local', ...all.sort()])];
}

const RENAMED = [
  ...['Asia/Ho_Chi_Minh', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon'],
  ...['America/Nuuk', 'Atlantic/Faroe', 'Europe/Kyiv', 'Pacific/Chuuk', 'Pacific/Pohnpei'],
];

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
