import { parseInstant } from './instant.ts';
import { type TimeTokens, wordsFor } from './time-tokens.ts';

export interface TimeOfDay {
  /** To the second or finer: `08:30:00`, `08:30:00.25`. */
  readonly text: string;
  /** The same with the typed precision, `08:30`, if that is a form of ISO 8601. */
  readonly isoText?: string;
}

export const MIDNIGHT = '00:00:00';

const NAMED_CLOCKS = wordsFor(['noon', '12:00:00'], ['midnight', MIDNIGHT]);
const HALVES = wordsFor(['am', 'am'], ['pm', 'pm']);

/** Reads `8:30`, `08:30:00.25`, `8 am`, `8:30pm`, `noon`. */
export function readClock(tokens: TimeTokens): TimeOfDay | undefined {
  const named = tokens.word(NAMED_CLOCKS);
  return named === undefined ? tokens.attempt(() => readNumberedClock(tokens)) : { text: named };
}

function readNumberedClock(tokens: TimeTokens): TimeOfDay | undefined {
  const hour = tokens.number(1, 2);
  const minute = tokens.numberAfter(':', 2);
  const second = minute && tokens.numberAfter(':', 2);
  const fraction = (second && readFraction(tokens)) ?? '';
  const half = readHalf(tokens);
  if (hour === undefined || (minute ?? half) === undefined) return undefined;
  if (half !== undefined) {
    const hours = hoursOfHalf(Number(hour), half);
    if (hours === undefined) return undefined;
    return existing({ text: `${hours}:${minute ?? '00'}:${second ?? '00'}${fraction}` });
  }
  const text = `${hour.padStart(2, '0')}:${minute}:${second ?? '00'}${fraction}`;
  if (hour.length < 2) return existing({ text });
  return existing({ text, isoText: second === undefined ? `${hour}:${minute}` : text });
}

/** Reads a lone hour, which ISO 8601 allows after a date: `2026-11-20T08`. */
export function readHour(tokens: TimeTokens): TimeOfDay | undefined {
  const hour = tokens.number(2);
  return hour === undefined ? undefined : existing({ text: `${hour}:00:00` });
}

/** Reads `0830` or `083000.25`, the basic format of ISO 8601. */
export function readBasicClock(tokens: TimeTokens): TimeOfDay | undefined {
  const minutes = tokens.number(4);
  const digits = minutes === undefined ? tokens.number(6) : `${minutes}00`;
  if (digits === undefined) return undefined;
  const fraction = (minutes === undefined ? readFraction(tokens) : undefined) ?? '';
  return existing({ text: `${digits.slice(0, 2)}:${digits.slice(2, 4)}:${digits.slice(4)}${fraction}` });
}

/**
 * Reads `.25`, or `,25` as in logs. Always returns a point: a comma would end the value in a search's key.
 */
function readFraction(tokens: TimeTokens): string | undefined {
  const digits = tokens.numberAfter('.,', 1, Number.POSITIVE_INFINITY);
  return digits && `.${digits}`;
}

function readHalf(tokens: TimeTokens): string | undefined {
  return tokens.attempt(() => {
    tokens.sign(' ');
    return tokens.word(HALVES);
  });
}

/** Returns the two digits of an hour from 1 to 12; undefined for any other. */
function hoursOfHalf(hour: number, half: string): string | undefined {
  if (hour < 1 || hour > 12) return undefined;
  const hours = (hour % 12) + (half === 'pm' ? 12 : 0);
  return String(hours).padStart(2, '0');
}

/** Returns undefined for impossible times: 25:00, 08:60. */
function existing(clock: TimeOfDay): TimeOfDay | undefined {
  return parseInstant(`2000-01-01T${clock.text}Z`) && clock;
}
