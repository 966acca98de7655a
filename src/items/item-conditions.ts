import { UsageError } from '../errors.ts';
import { quotedWord } from '../shell-words.ts';
import { type Moment, readDateTime, wallMoment } from '../time/date-time.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import { SECOND_MS } from '../time/lengths.ts';
import { resolveTime } from '../time/resolve-time.ts';
import { parseTime } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { isNumber } from './exact-numbers.ts';
import { type FieldPath, parseFieldPath, pathText } from './field-path.ts';

const COMPARISONS = ['!=', '<=', '>=', '=', '<', '>', '~'] as const;
export type Operator = (typeof COMPARISONS)[number] | 'exists' | 'missing' | 'in' | 'not in';

export interface Condition {
  readonly text: string;
  readonly field: FieldPath;
  readonly operator: Operator;
  /** Empty for `exists` and `missing`. */
  readonly value: string;
  /** A quoted value is always a text. */
  readonly quoted: boolean;
  /** True for equality without case, as in the service's filters. */
  readonly ignoresCase?: boolean;
  readonly instant: Instant | undefined;
  /** Local time, for payload times without an offset. Undefined for fields that are always UTC. */
  readonly wall?: Moment | undefined;
  readonly alternatives?: readonly Condition[];
  /** The file that the alternatives are from. */
  readonly file?: string;
}

/** Reads the values of `in @FILE`, one per line. Throws `UsageError`. */
export type ReadValues = (file: string, flag: string) => readonly string[];

export const refuseFiles: ReadValues = (file, flag) => {
  throw new UsageError(`${flag}: @${file} names a file, and no files are read here`, {
    next: 'give the values themselves: FIELD in (a, b)',
  });
};

/** A lone backslash at the end is for `parseFieldPath` to refuse. */
const NAME = String.raw`(?:[^\\!=<>~]|\\(?:[\s\S]|$))*`;
const CONDITION = new RegExp(`^\\s*(!(?!=))?(${NAME})(?:(!=|<=|>=|=|<|>|~)([\\s\\S]*))?$`);
/** A backslash before the white space makes the word part of a name. */
const JOINT = /((?<=(?<!\\)\s)(?:and|or)(?=\s)|&&|\|\|)/i;

/** A backslash makes the white space part of a name. */
const IN =
  /^\s*(?<name>(?:[^\\!=<>~\s]|\\[\s\S]|[^\S\n](?!\s))+?)\s+(?<not>not\s+)?in\s*(?:\((?<list>[\s\S]*)\)|@(?<file>[\s\S]+))\s*$/i;
const NEGATION = /^\s*(?:!\s*|not\s+)(?=[^\s=])/i;

/**
 * Parses `FIELD OP VALUE`, `FIELD` (present) or `!FIELD` (absent). Times have the forms of `--since`, default
 * to `zone`, and count back from `now` (milliseconds since the epoch). Throws `UsageError` that names the
 * flag, also for joined conditions and values without an order.
 */
export function parseCondition(
  text: string,
  flag: string,
  now: number,
  zone: TimeZone = UTC,
  readValues = refuseFiles,
): Condition {
  const given: Given = { text, flag, now, zone };
  refuseNegatedMembership(given);
  const membership = membershipIn(text);
  if (membership) return parseMembership(membership, given, readValues);
  const [whole, not, name = '', typed, behind = ''] = CONDITION.exec(text) ?? [];
  const rest = behind.trim();
  if (JOINT.test(name) || isFollowedByCondition(rest)) throw joined(given);
  if (whole === undefined || (not && typed))
    throw invalid(given, "'!' goes before a lone field, or before '=' in a comparison");
  if (name.trim() === '') throw invalid(given, text.trim() === '' ? 'it is empty' : 'it names no field');
  if (typed) return parseComparison(parseFieldPath(name, flag, text), typed as Operator, rest, given);
  const word = wordOfOtherLanguages(name);
  if (word?.toLowerCase() === 'in') throw unlisted(name, word, given);
  if (word !== undefined) throw invalid(given, `'${word}' is not an operator`);
  const field = parseFieldPath(name, flag, text);
  const operator = not ? 'missing' : 'exists';
  return { text, field, operator, value: '', quoted: false, instant: undefined };
}

interface Given {
  readonly text: string;
  readonly flag: string;
  readonly now: number;
  readonly zone: TimeZone;
}

function invalid(
  { text, flag }: Given,
  why: string,
  next = formOf(flag),
  correction?: UsageError['correction'],
): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': ${why}`, {
    details: [
      `a condition is FIELD OP VALUE, where OP is one of ${COMPARISONS.join(' ')}; FIELD in (a, b); FIELD not in (a, b); FIELD; or !FIELD`,
    ],
    next,
    ...(correction ? { correction } : {}),
  });
}

function formOf(flag: string): string {
  return `write it as in ${flag} 'eventData.body.pages > 20', ${flag} 'eventType ~ signed' or ${flag} '!eventData.partition'`;
}

function formOfIn(flag: string): string {
  return `write it as in ${flag} 'FIELD in (a, b)'`;
}

function unlisted(text: string, word: string, given: Given): UsageError {
  const [, field = '', list = ''] = /^(.*?(?<!\\)\s)in\s+\(?([^)]*)/is.exec(text) ?? [];
  const negation = NEGATION.exec(given.text) ? 'not ' : '';
  const meant = `${field.replace(NEGATION, '').trim()} ${negation}in (${list.trim()})`;
  const isListed = (listedValues(list)?.length ?? 0) > 0;
  const next = isListed ? `write ${given.flag} ${quotedWord(meant)}` : formOfIn(given.flag);
  return invalid(given, `'${word}' takes its values in ( )`, next);
}

interface Membership {
  readonly name: string;
  readonly operator: 'in' | 'not in';
  readonly list: string | undefined;
  readonly file: string;
}

function membershipIn(text: string): Membership | undefined {
  const parts = IN.exec(text)?.groups;
  if (!parts) return undefined;
  const { name = '', not, list, file = '' } = parts;
  return { name, operator: not === undefined ? 'in' : 'not in', list, file: file.trim() };
}

function refuseNegatedMembership(given: Given): void {
  const membership = membershipIn(given.text.replace(NEGATION, ''));
  if (!membership || !NEGATION.test(given.text)) return;
  const { name, operator, list, file } = membership;
  const opposite = operator === 'in' ? 'not in' : 'in';
  const values = list === undefined ? `@${file}` : `(${list})`;
  throw meaning(given, "a list is negated by 'not in'", `${name} ${opposite} ${values}`);
}

/** `= @FILE` would compare with the name of the file. */
function refuseFileName(operator: Operator, rest: string, given: Given): void {
  if (!/^@\S/.test(rest) || (operator !== '=' && operator !== '!=')) return;
  const name = given.text.trimEnd().slice(0, -rest.length).trimEnd().slice(0, -operator.length);
  const membership = operator === '=' ? 'in' : 'not in';
  const why = `'${operator}' does not read a file; put a value that begins with @ in quotes`;
  throw meaning(given, why, `${name.trim()} ${membership} ${rest}`);
}

function meaning(given: Given, why: string, meant: string): UsageError {
  const next = `write ${given.flag} ${quotedWord(meant)}`;
  return invalid(given, why, next, { typed: given.text, meant });
}

/** Throws `UsageError` for an unreadable or empty list. */
function parseMembership(
  { name, operator, list, file }: Membership,
  given: Given,
  readValues: ReadValues,
): Condition {
  const { text, flag } = given;
  const field = parseFieldPath(name, flag, text);
  const values = list === undefined ? readValues(file, flag) : listedValues(list);
  if (values === undefined)
    throw invalid(given, 'the values in ( ) are parted by commas; one with a comma is in JSON quotes');
  if (values.length === 0) throw invalid(given, `${operator} needs a value`, formOfIn(flag));
  const alternatives = values.map((value) => equality(field, value, given));
  const condition = { text, field, operator, value: '', quoted: false, instant: undefined, alternatives };
  return list === undefined ? { ...condition, file } : condition;
}

function equality(field: FieldPath, text: string, given: Given): Condition {
  const quotation = quotedText(text);
  const quoted = typeof quotation === 'string';
  const value = quoted ? quotation : text;
  const mayBeTime = !quoted && !isDerived(field) && !isNumber(value);
  const instant = mayBeTime ? instantOf(value, given) : undefined;
  const wall = wallOf(field, value, instant, given);
  return { text: `${given.flag} ${text}`, field, operator: '=', value, quoted, instant, wall };
}

function parseComparison(field: FieldPath, operator: Operator, rest: string, given: Given): Condition {
  refuseLongerOperator(operator, rest, given);
  refuseFileName(operator, rest, given);
  const quotation = quotedText(rest);
  if (quotation === null) throw invalid(given, 'the text in quotes is not a JSON string');
  const value = quotation ?? rest;
  const isOrder = isOrderOperator(operator);
  const isTime = isCreationTime(field) && operator !== '~';
  // A time may be quoted if the field has only times.
  const quoted = quotation !== undefined && !isTime;
  // `= 20261120` is a number, not a date.
  const mayBeTime = !quoted && !isDerived(field) && (isOrder || isTime || !isNumber(value));
  const instant = mayBeTime ? instantOf(value, given) : undefined;
  const wall = wallOf(field, value, instant, given);
  const condition: Condition = { text: given.text, field, operator, value, quoted, instant, wall };
  if (isOrder) refuseUnordered(condition, given);
  if (isTime && !instant && value !== 'null')
    throw invalid(
      given,
      `'${value}' is not a time`,
      `write a time as for --since, as in ${given.flag} 'createdOn < 2026-11-20 08:30'`,
    );
  return condition;
}

function isOrderOperator(operator: Operator): boolean {
  return /[<>]/.test(operator);
}

function isCreationTime({ steps }: FieldPath): boolean {
  return steps.length === 1 && steps[0] === 'createdOn';
}

export function isDerived({ walk }: FieldPath): boolean {
  return walk?.derivation !== undefined;
}

/**
 * The condition's time as local time: as typed if it has no offset, otherwise the instant in the zone.
 * Undefined for creation times.
 */
function wallOf(
  field: FieldPath,
  value: string,
  instant: Instant | undefined,
  { zone }: Given,
): Moment | undefined {
  if (!instant || isCreationTime(field)) return undefined;
  const typed = readDateTime(value);
  if (typed && typed.zone === undefined) return wallMoment(typed);
  const wall = milliseconds(instant) + zone.offsetAt(milliseconds(instant));
  return { seconds: Math.floor(wall / SECOND_MS), fraction: instant.fraction };
}

function instantOf(value: string, { now, zone }: Given): Instant | undefined {
  const time = parseTime(value, zone);
  return time && resolveTime(time, now);
}

/** Rejects `==`, `===` and `=~`; a value that begins with such a character needs quotes. */
function refuseLongerOperator(operator: Operator, rest: string, given: Given): void {
  if (!/^[=!<>~]/.test(rest)) return;
  const { text, flag } = given;
  const longer = `${operator}${rest[0]}`;
  const why = `'${longer}' is not an operator; put a value that begins with ${rest[0]} in quotes`;
  const written = (condition: string) => `write ${flag} ${quotedWord(condition)}`;
  const beforeValue = text.trimEnd().slice(0, -rest.length);
  if (/\s$/.test(beforeValue)) throw invalid(given, why, written(beforeValue + JSON.stringify(rest)));
  const isEquality = longer === '==' || longer === '!==';
  throw invalid(given, why, isEquality ? written(beforeValue + rest.replace(/^=+/, '')) : undefined);
}

function refuseUnordered({ field, operator, value, quoted, instant }: Condition, given: Given): void {
  const { flag } = given;
  if (field.walk?.derivation === 'weekday')
    throw invalid(
      given,
      'weekdays have no order',
      `name them: ${flag} '${pathText(field)} in (Saturday, Sunday)'`,
    );
  if (quoted || instant || isNumber(value)) return;
  const shown = value === '' ? 'nothing' : `'${value}'`;
  const order = operator.startsWith('<') ? 'less' : 'greater';
  throw invalid(
    given,
    `${shown} is neither a number nor a time, so nothing is ${order}`,
    `compare with a number or a time, as in ${flag} 'eventData.body.pages > 20' or ${flag} 'createdOn < 2h'; a value in quotes compares as text`,
  );
}

/** True if another condition follows a joint such as `and` or `||`; false for `Smith and Sons`. */
function isFollowedByCondition(value: string): boolean {
  if (quotedText(value) !== undefined || isListOrObject(value)) return false;
  const [joint = ''] = JOINT.exec(value) ?? [];
  return /[&|]/.test(joint) || /[=<>~]|^!/.test(value.split(JOINT).slice(2).join('').trim());
}

function joined(given: Given): UsageError {
  const { text, flag } = given;
  const pieces = text.split(JOINT).map((piece) => piece.trim());
  const [, word = ''] = pieces;
  const conditions = pieces.filter((piece, index) => index % 2 === 0 && piece !== '');
  const isEither = /or|\|/i.test(word);
  return invalid(
    given,
    `${word} cannot join conditions in one ${flag}`,
    isEither
      ? `several ${flag} must all hold; for either of them run the command once for each`
      : `give each a flag of its own: ${conditions.map((one) => `${flag} ${quotedWord(one)}`).join(' ')}`,
  );
}

/** Undefined if a quoted text is not followed by a comma or the end. */
function listedValues(list: string): string[] | undefined {
  const values: string[] = [];
  const value = /\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,"'\s][^,]*)\s*(,|$)/y;
  if (list.trim() === '') return values;
  for (;;) {
    const [, text = '', end] = value.exec(list) ?? [];
    if (end === undefined) return undefined;
    values.push(text.trim());
    if (end === '') return values;
  }
}

/** Finds `contains x`, `in x` or a final `exists` after a name, unless the white space is escaped. */
function wordOfOtherLanguages(name: string): string | undefined {
  const words = name.trim().split(/\s+/);
  for (const [index, word] of words.entries()) {
    if (index === 0 || words[index - 1]?.endsWith('\\')) continue;
    const isLast = index === words.length - 1;
    if (isLast ? /^exists$/i.test(word) : /^(contains|like|in|is)$/i.test(word)) return word;
  }
  return undefined;
}

/** Accepts double quotes as in JSON and single ones as in SQL. Undefined without quotes, null if invalid. */
function quotedText(value: string): string | null | undefined {
  if (/^'[^']*'$/.test(value)) return value.slice(1, -1);
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(value)) return undefined;
  try {
    return JSON.parse(value) as string;
  } catch {
    return null;
  }
}

/** Its texts may look like conditions. */
function isListOrObject(value: string): boolean {
  try {
    return typeof JSON.parse(value) === 'object';
  } catch {
    return false;
  }
}

export function isMembership(text: string): boolean {
  return membershipIn(text) !== undefined;
}

export function refuseFileOfValues(condition: string, flag: string): void {
  const membership = membershipIn(condition);
  if (membership?.file) refuseFiles(membership.file, flag);
}
