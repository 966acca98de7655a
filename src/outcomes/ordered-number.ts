const QUOTE = 0x22;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** A double holds so many digits exactly (IEEE 754). */
const EXACT_DIGITS = 15;
/** Of whole numbers with so many digits it holds enough to put them in order. */
const MOST_DIGITS = 18;

/**
 * The number that a JSON value between two offsets is, or a text in its quotes, if a double keeps its place
 * among others; `NaN` for others, which are compared only as texts. A text like `007` is no number.
 */
export function orderedNumber(bytes: Buffer, start: number, end: number): number {
  const isText = bytes[start] === QUOTE;
  const first = isText ? start + 1 : start;
  const last = isText ? end - 1 : end;
  const isNegative = bytes[first] === MINUS;
  const wholeAt = isNegative ? first + 1 : first;
  const wholeEnd = digitsEnd(bytes, wholeAt, last);
  const isWhole = wholeEnd === last;
  const hasZeroBefore = bytes[wholeAt] === ZERO && wholeEnd > wholeAt + 1;
  if (wholeEnd === wholeAt || hasZeroBefore || (!isWhole && !isFraction(bytes, wholeEnd, last)))
    return Number.NaN;
  const digits = last - wholeAt - (isWhole ? 0 : 1);
  if (digits > EXACT_DIGITS)
    return isWhole && digits <= MOST_DIGITS ? Number(bytes.toString('latin1', first, last)) : Number.NaN;
  const size = digitsOf(bytes, wholeAt, last) / 10 ** (isWhole ? 0 : last - wholeEnd - 1);
  return isNegative ? -size : size;
}

function isFraction(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === POINT && end > start + 1 && digitsEnd(bytes, start + 1, end) === end;
}

/** The offset after the digits that begin at an offset. */
function digitsEnd(bytes: Buffer, start: number, end: number): number {
  let index = start;
  while (index < end && (bytes[index] as number) >= ZERO && (bytes[index] as number) <= NINE) index++;
  return index;
}

/** The whole number that digits make, past a point among them. */
function digitsOf(bytes: Buffer, start: number, end: number): number {
  let number = 0;
  for (let index = start; index < end; index++)
    if (bytes[index] !== POINT) number = 10 * number + (bytes[index] as number) - ZERO;
  return number;
}
