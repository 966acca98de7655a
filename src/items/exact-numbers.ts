import { trimZeros } from '../time/date-time.ts';

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

/** True if a text is a number as JSON writes it (RFC 8259 section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/**
 * An exact number: `0.digits` times ten to the `magnitude`, without zeros at either end of the digits. Zero
 * has no digits.
 */
interface Decimal {
  readonly sign: number;
  readonly digits: string;
  readonly magnitude: bigint;
}

/** The value of a JSON text. A number that JavaScript cannot hold as it is written stays a text. */
export function exactValue(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isLost =
    typeof value === 'number' && (!Number.isFinite(value) || compareNumbers(json, String(value)) !== 0);
  return isLost ? json : value;
}

/** Negative if JSON number `a` is smaller, positive if it is larger; exact for numbers of any size. */
export function compareNumbers(a: string, b: string): number {
  return compareDecimals(decimal(a), decimal(b));
}

/** The same for many texts that are compared with number `b`; undefined for one that is no number. */
export function numberComparison(b: string): (a: string) => number | undefined {
  const other = decimal(b);
  const short = isShortNumber(b) ? Number(b) : undefined;
  return (a) => {
    if (short !== undefined && isShortNumber(a)) return Number(a) - short;
    const one = parseDecimal(a);
    return one && compareDecimals(one, other);
  };
}

/** Up to 15 digits a double keeps the order of decimal numbers, and equal ones alone are equal. */
const MOST_DIGITS_OF_DOUBLE = 15;
const PLAIN_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function isShortNumber(text: string): boolean {
  return text.length <= MOST_DIGITS_OF_DOUBLE && PLAIN_NUMBER.test(text);
}

function compareDecimals(one: Decimal, other: Decimal): number {
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.magnitude !== other.magnitude) return one.magnitude < other.magnitude ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  // Digits after the point compare as texts do.
  return one.digits < other.digits ? -one.sign : one.sign;
}

/** One form of the many that a JSON number has, with all its digits. */
export function normalNumber(text: string): string {
  const { sign, digits, magnitude } = decimal(text);
  const places = Number(magnitude);
  const minus = sign < 0 ? '-' : '';
  const parted = (whole: string, fraction: string) => minus + whole + (fraction && `.${fraction}`);
  if (sign === 0) return '0';
  if (places > 0 && places <= 30)
    return parted(digits.slice(0, places).padEnd(places, '0'), digits.slice(places));
  return `${parted(digits.slice(0, 1), digits.slice(1))}e${magnitude - 1n}`;
}

/** The value of a text that is a number. */
function decimal(text: string): Decimal {
  return parseDecimal(text) as Decimal;
}

function parseDecimal(text: string): Decimal | undefined {
  const match = NUMBER.exec(text);
  if (!match) return undefined;
  const [, minus, whole = '', fraction = '', exponent = '0'] = match;
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '');
  if (digits === '') return { sign: 0, digits: '', magnitude: 0n };
  const magnitude = BigInt(exponent) + BigInt(whole.length - (all.length - digits.length));
  return { sign: minus ? -1 : 1, digits: trimZeros(digits), magnitude };
}
