const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

/** True if a text is a number as JSON writes it (RFC 8259 section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/**
 * An exact number: `0.digits` times ten to the `magnitude`, without zeros at either end of the digits. Zero has no
 * digits.
 */
interface Decimal {
  readonly sign: number;
  readonly digits: string;
  readonly magnitude: bigint;
}

/** Negative if JSON number `a` is smaller, positive if it is larger; exact for numbers of any size. */
export function compareNumbers(a: string, b: string): number {
  const [one, other] = [decimal(a), decimal(b)];
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.magnitude !== other.magnitude) return one.magnitude < other.magnitude ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  // Digits after the point compare as texts do.
  return one.digits < other.digits ? -one.sign : one.sign;
}

function decimal(text: string): Decimal {
  const [, minus, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) as RegExpExecArray;
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '');
  if (digits === '') return { sign: 0, digits: '', magnitude: 0n };
  const magnitude = BigInt(exponent) + BigInt(whole.length - (all.length - digits.length));
  return { sign: minus ? -1 : 1, digits: digits.replace(/0+$/, ''), magnitude };
}
