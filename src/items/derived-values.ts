import { offsetMsIn, readDateTime } from '../time/date-time.ts';
import { parseInstant } from '../time/instant.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { ARRAY, OBJECT, QUOTE, readEach, stringEnd, stringText, valueEnd } from './json-scanner.ts';

/** Undefined if nothing derives from the value. */
export type Derive = (
  bytes: Buffer,
  start: number,
  end: number,
  createdOn?: () => string | undefined,
) => string | number | undefined;

interface DerivationFacts {
  /** For messages: a value that it derives from. */
  readonly source: string;
  readonly isOfZone?: true;
  readonly needsCreation?: true;
  /** The derived form of a value as people type it. */
  readonly meant?: (typed: string) => string | undefined;
  readonly deriverIn: (zone: TimeZone) => Derive;
}

/** `size` is of the whole item, the others of a field. */
const DERIVATIONS = {
  size: { source: 'a size', deriverIn: () => (_, start, end) => end - start },
  length: { source: 'a text or a list', deriverIn: () => lengthOf },
  domain: {
    source: 'an e-mail address or a URL',
    meant: (typed) => typed.toLowerCase(),
    deriverIn: () => ofText(domainOf),
  },
  hour: {
    source: 'a time',
    isOfZone: true,
    meant: (typed) => /^0(\d)$/.exec(typed)?.[1],
    deriverIn: (zone) => ofText((text) => hourOf(text, zone)),
  },
  weekday: {
    source: 'a time',
    isOfZone: true,
    meant: weekdayMeant,
    deriverIn: (zone) => ofText((text) => weekdayOf(text, zone)),
  },
  delay: { source: 'a time with an offset', needsCreation: true, deriverIn: () => ofText(delayOf) },
} as const satisfies Readonly<Record<string, DerivationFacts>>;

export type Derivation = keyof typeof DERIVATIONS;
export type FieldDerivation = Exclude<Derivation, 'size'>;

export const FIELD_DERIVATIONS = Object.keys(DERIVATIONS).filter(
  (name): name is FieldDerivation => name !== 'size',
);

export function derivationFacts(derivation: Derivation): DerivationFacts {
  return DERIVATIONS[derivation];
}

export function derive(derivation: Derivation, zone: TimeZone): Derive {
  return DERIVATIONS[derivation].deriverIn(zone);
}

function ofText(
  deriveFrom: (text: string, createdOn?: () => string | undefined) => string | number | undefined,
): Derive {
  return (bytes, start, end, createdOn) =>
    bytes[start] === QUOTE ? deriveFrom(stringText(bytes, start, end), createdOn) : undefined;
}

/** Code points of a text, elements of a list, or members of an object. */
function lengthOf(bytes: Buffer, start: number, end: number): number | undefined {
  const first = bytes[start];
  if (first === QUOTE) return charactersOf(stringText(bytes, start, end));
  if (first !== ARRAY && first !== OBJECT) return undefined;
  let count = 0;
  readEach(bytes, start, (at) => {
    count++;
    return valueEnd(bytes, first === OBJECT ? stringEnd(bytes, at) + 1 : at);
  });
  return count;
}

function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Accepts `Ann <ann@mail.harbour.example>` and `mailto:` too. */
const MAIL_ADDRESS = /^(?:[^<>@]*<)?(?:mailto:)?[^\s<>@]+@([^\s<>@/?]+)(?:\?[^\s<>@]*)?>?$/i;
/** The host of a URL without user information and port (RFC 3986). */
const WEB_ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?(\[[^\]/?#@[]*\]|[^\s:/?#@]+)/i;

function domainOf(text: string): string | undefined {
  const [, domain] = WEB_ADDRESS.exec(text) ?? MAIL_ADDRESS.exec(text) ?? [];
  return domain?.toLowerCase();
}

/** Milliseconds on the zone's clock, as if they were UTC. A text without an offset is already local time. */
function wallTime(text: string, zone: TimeZone): number | undefined {
  const read = readDateTime(text);
  if (!read || read.precision === 'month') return undefined;
  const wall = read.wallSeconds * SECOND_MS;
  if (read.zone === undefined) return wall;
  const time = wall - offsetMsIn(read.zone);
  return time + zone.offsetAt(time);
}

/** Precision of the result, since sums of fractions are inexact. */
const NANOSECONDS_PER_MS = 1e6;

/** Milliseconds from a time to the event's creation; undefined for a time without an offset. */
function delayOf(text: string, createdOn?: () => string | undefined): number | undefined {
  const from = readDateTime(text)?.zone === undefined ? undefined : parseInstant(text);
  const to = from && parseInstant(createdOn?.() ?? '');
  if (!to) return undefined;
  const fractionMs = 1000 * (Number(`0.${to.fraction}`) - Number(`0.${from.fraction}`));
  return (
    Math.round((1000 * (to.seconds - from.seconds) + fractionMs) * NANOSECONDS_PER_MS) / NANOSECONDS_PER_MS
  );
}

function hourOf(text: string, zone: TimeZone): number | undefined {
  const wall = wallTime(text, zone);
  return wall === undefined ? undefined : Math.floor((wall - startOfDay(wall)) / HOUR_MS);
}

function startOfDay(wall: number): number {
  return Math.floor(wall / DAY_MS) * DAY_MS;
}

export const WEEKDAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const;

function weekdayOf(text: string, zone: TimeZone): string | undefined {
  const wall = wallTime(text, zone);
  return wall === undefined ? undefined : WEEKDAYS[new Date(wall).getUTCDay()];
}

/** Accepts two or more letters of a name in any case, or a number: Monday is 1, Sunday 0 or 7 (cron). */
function weekdayMeant(text: string): string | undefined {
  if (/^[0-7]$/.test(text)) return WEEKDAYS[Number(text) % 7];
  if (text.length < 2) return undefined;
  return WEEKDAYS.find((name) => name.toLowerCase().startsWith(text.toLowerCase()));
}
