import { type TimeZone, UTC } from '../time/time-zone.ts';
import { ConditionDoubt } from './condition-doubt.ts';
import { ConditionMatch } from './condition-match.ts';
import { FieldReader } from './field-reader.ts';
import type { Condition } from './item-conditions.ts';
import type { Items } from './items.ts';
import { rawText, someToken } from './json-scanner.ts';
import { comparableForm } from './value-texts.ts';

/** Keeps items that fulfil all conditions and contain any of the texts, in a value or a name. */
export interface KeepItems {
  <Some extends Items>(items: Some): Some;
  /** Warns of fields and values in conditions that no item so far has. */
  doubts(): string[];
}

type Test = (bytes: Buffer, start: number, end: number) => boolean;

export function itemFilter(
  conditions: readonly Condition[],
  texts: readonly string[],
  zone = UTC,
  flag = '--where',
): KeepItems {
  const doubts = conditions.map((condition) => new ConditionDoubt(condition));
  const fulfils = conditionTest(conditions, doubts, zone);
  const hasText = textTest(texts);
  let sample: Items | undefined;
  const keep = <Some extends Items>(items: Some): Some => {
    const { bytes, count } = items;
    if (count > 0) sample ??= items;
    const kept: number[] = [];
    for (let item = 0; item < count; item++) {
      const start = items.start(item);
      const end = items.end(item);
      if (fulfils(bytes, start, end) && hasText(bytes, start, end)) kept.push(item);
    }
    return kept.length === count ? items : items.pick(kept);
  };
  const doubtsOf = (seen: Items) => doubts.flatMap((doubt) => doubt.warning(flag, seen) ?? []);
  return Object.assign(keep, { doubts: () => (sample ? doubtsOf(sample) : []) });
}

function conditionTest(
  conditions: readonly Condition[],
  doubts: readonly ConditionDoubt[],
  zone: TimeZone,
): Test {
  if (conditions.length === 0) return () => true;
  const matches = conditions.map((condition, index) => new ConditionMatch(condition, doubts[index]));
  const reader = new FieldReader(
    conditions.map(({ field }) => field),
    zone,
  );
  return (bytes, start) => {
    reader.read(bytes, start);
    let holds = true;
    for (let field = 0; field < matches.length; field++) {
      const isDoubtful = doubts[field]?.isOpen === true;
      // A doubtful condition also sees events that another condition excludes.
      if (holds || isDoubtful) holds = (matches[field] as ConditionMatch).holds(reader, field) && holds;
    }
    return holds;
  };
}

function textTest(texts: readonly string[]): Test {
  if (texts.length === 0) return () => true;
  const finders = texts.map(textFinder);
  return (bytes, start, end) => finders.some((find) => find(bytes, start, end));
}

/** With one of these, a match in the item's text may span tokens or be part of an escape. */
const STRUCTURE = /["\\{}[\],:]/;

/** Searches values and names, in any case and normalization. */
function textFinder(wanted: string): (bytes: Buffer, start: number, end: number) => boolean {
  const formOf = comparableForm(wanted);
  const form = formOf(wanted);
  const mayCrossTokens = STRUCTURE.test(wanted);
  const hasWanted = (text: string) => formOf(text).includes(form);
  return (bytes, start, end) => {
    const text = bytes.toString('utf8', start, end);
    const hasEscapes = text.includes('\\');
    // Without escapes, the item's JSON text contains every value's text.
    if (!hasEscapes && !hasWanted(text)) return false;
    if (!hasEscapes && !mayCrossTokens) return true;
    return someToken(bytes, start, end, (at, to) => hasWanted(rawText(bytes, at, to)));
  };
}
