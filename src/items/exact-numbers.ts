import { trimZeros } from '../time/date-time.ts';

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

/** As JSON writes numbers (RFC 8259, section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/** Without quotes, a condition reads such a text as more than its characters. */
export function isNumberOrLiteral(text: string): boolean {
  return isNumber(text) || /^(true|false|null)$/.test(text);
}

/** Exact: `0.digits` times ten to the `magnitude`, without zeros at either end. Zero has no digits. */
interface Decimal {
  readonly sign: number;
  readonly digits: string;
  readonly magnitude: bigint;
}

/** Parses JSON, but keeps a number that JavaScript cannot represent as its text. */
export function exactValue(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isLost =
    typeof value === 'number' && (!Number.isFinite(value) || compareNumbers(json, String(value)) !== 0);
  return isLost ? json : value;
}

export function compareNumbers(a: string, b: string): number {
  return compareDecimals(decimal(a), decimal(b));
}

/** Compares many texts with one number; undefined for a text that is not a number. */
export function numberComparison(b: string): (a: string) => number | undefined {
  const other = decimal(b);
  const short = isShortNumber(b) ? Number(b) : undefined;
  return (a) => {
    if (short !== undefined && isShortNumber(a)) return Number(a) - short;
    const one = parseDecimal(a);
    return one && compareDecimals(one, other);
  };
}

/** Up to 15 digits, doubles keep the order and the equality of decimal numbers. */
const MAX_DIGITS_OF_DOUBLE = 15;

function isShortNumber(text: string): boolean {
  return text.length <= MAX_DIGITS_OF_DOUBLE && !/e/i.test(text) && isNumber(text);
}

function compareDecimals(one: Decimal, other: Decimal): number {
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.magnitude !== other.magnitude) return one.magnitude < other.magnitude ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  return one.digits < other.digits ? -one.sign : one.sign;
}

/** Returns the same text for all spellings of a number, with all its digits. */
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
