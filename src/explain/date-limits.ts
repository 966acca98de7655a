import { compareInstants, parseInstant } from '../time/instant.ts';

/** Dates without a zone: months, days, or days with a time. Dates of one form sort as text. */
const WITHOUT_ZONE = /^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ][0-2]\d:[0-5]\d(:[0-5]\d)?)?)?$/;
/** Lengths of a date cut after its year, month, day, hour, minute and second, the roundest first. */
const ENDS = [4, 7, 10, 13, 16, 19];
const FIRST_MOMENT = '0000-01-01T00:00:00';

export interface DateOrder {
  readonly isOfTexts: boolean;
  compare(a: string, b: string): number;
  roundestBetween(low: string, high: string): string;
}

/** Undefined if some text is not a date, or if dates without a zone differ in form. */
export function dateOrderOf(texts: readonly string[]): DateOrder | undefined {
  const [first] = texts;
  if (first === undefined) return undefined;
  const isOfOneForm = (text: string) => text.length === first.length && WITHOUT_ZONE.test(text);
  if (texts.every(isOfOneForm)) return AS_TEXTS;
  return texts.every((text) => parseInstant(text)) ? AS_INSTANTS : undefined;
}

const AS_TEXTS: DateOrder = {
  isOfTexts: true,
  compare: (a, b) => Number(a > b) - Number(a < b),
  roundestBetween: (low, high) => roundsOf(high).find((round) => round > low) ?? high,
};

const AS_INSTANTS: DateOrder = {
  isOfTexts: false,
  compare: compareTimes,
  roundestBetween: (low, high) => {
    const utc = new Date(1000 * (parseInstant(high)?.seconds ?? 0)).toISOString();
    return (
      roundsOf(utc)
        .find((round) => compareTimes(`${round}Z`, low) > 0)
        ?.concat('Z') ?? high
    );
  },
};

function compareTimes(a: string, b: string): number {
  const [first, second] = [parseInstant(a), parseInstant(b)];
  return first && second ? compareInstants(first, second) : 0;
}

/** The date rounded down to its year, month, day and so on. */
function roundsOf(date: string): string[] {
  const rest = FIRST_MOMENT.slice(0, 10) + date.slice(10, 11) + FIRST_MOMENT.slice(11);
  return ENDS.map((end) => date.slice(0, end) + rest.slice(end, date.length));
}
