import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { faultText, UsageError } from '../errors.ts';
import { type FieldPath, parseFieldPath } from '../items/field-path.ts';
import { type FilterField, type FilterFlagName, type FilterKey, filterKeys } from '../items/filter-keys.ts';
import { guidsIn, isGuid, notAGuid } from '../items/guids.ts';
import { parseCondition, type ReadValues } from '../items/item-conditions.ts';
import { marketplacesText } from '../names/marketplaces.ts';
import { oneOf } from '../settings/flag-values.ts';
import { listFlag } from '../settings/flags.ts';
import { addMarketplaceFlag, addTimezoneFlag } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import type { Instant } from '../time/instant.ts';
import { readDayPeriod, readMonthPeriod } from '../time/period.ts';
import { notATime } from '../time/time-advice.ts';
import { parseTime } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { distinctIds, EventFilters, type FilterValues, type GivenTime } from './event-filters.ts';
import { findByPart } from './part-of-id.ts';

export interface FilterFlags extends Readonly<Partial<Record<FilterFlagName, string[]>>> {
  readonly after?: string;
  readonly since?: string;
  readonly before?: string;
  readonly until?: string;
  readonly day?: string;
  readonly month?: string;
  readonly timezone?: string;
  readonly failed?: true;
  readonly where?: string[];
  readonly grep?: string[];
  readonly from?: string;
}

/** Without `--failed`, which is short for a status. */
export const FILTER_FLAGS: readonly string[] = [
  'after',
  'since',
  'before',
  'until',
  'day',
  'month',
  ...filterKeys.map(({ flag }) => flag),
  'where',
  'grep',
  'marketplace',
];

const FILTERS = 'Filters:';

export function addFilterFlags(command: Command): Command {
  const addOption = (option: Option) => {
    command.addOption(option.helpGroup(FILTERS));
    return option;
  };
  const add = (flags: string, description: string) => addOption(new Option(flags, description));
  const addList = (flags: string, description: string) =>
    addOption(listFlag(flags, `${description} (repeatable, or with commas: any of them)`));
  add('--since <time>', 'created later than this: 2026-11-01, 2026-11-01T08:30:00Z, 08:00, 2h, 7d, today');
  add('--after <time>', 'the same as --since').hideHelp();
  add('--until <time>', 'created earlier than this');
  add('--before <time>', 'the same as --until').hideHelp();
  add('--day <date>', 'created on this day of the zone: 2026-11-01, yesterday');
  add('--month <month>', 'created in this month of the zone: 2026-11');
  for (const { field, flag, value, description } of filterKeys) {
    addList(`--${flag} <${value}>`, description);
    if (field === 'publishStatus') add('--failed', 'the same as --status FAILED');
  }
  const where =
    "with a field that matches: 'eventData.body.pages > 20', 'lines[].sku = A-7' (any element); also != < <= >= ~ (contains), 'FIELD in (a, b)', 'not in', in @FILE, FIELD (present) and '!FIELD'";
  addOption(listFlag('--where <condition>', where));
  const grep = 'with this text in a value or a name, ignoring case (repeatable: any of them)';
  addOption(listFlag('--grep <text>', grep));
  addMarketplaceFlag(command, FILTERS);
  return addTimezoneFlag(command);
}

export type FiltersCall<Flags> = Pick<Call<Flags>, 'flags' | 'settings' | 'context' | 'reporter'>;

/** Uses the zone, the name field and the marketplaces of the settings. Throws `UsageError`. */
export function filtersOf({
  flags,
  settings,
  context,
  reporter,
}: FiltersCall<FilterFlags & SettingFlags>): EventFilters {
  const named = settings.nameField;
  const nameField = named && parseFieldPath(named.text, named.source);
  const filters = eventFilters(flags, context.clock.now(), settings.zone, nameField);
  const { marketplaces } = settings;
  if (marketplaces === undefined) return filters;
  const marketplaceChoice = flags.marketplace === undefined ? 'settings' : 'line';
  const where = marketplaceChoice === 'line' ? '' : ', by your settings; --marketplace all shows all';
  if (marketplaces.length > 0) reporter.notice(`only events of ${marketplacesText(marketplaces)}${where}`);
  return new EventFilters({ ...filters, marketplaces, marketplaceChoice });
}

/** Times without a zone are in `zone`; `now` is this machine's, in milliseconds. Throws `UsageError`. */
export function eventFilters(
  flags: FilterFlags,
  now: number,
  zone: TimeZone = UTC,
  nameField?: FieldPath,
): EventFilters {
  if (flags.grep?.includes('')) throw new UsageError('--grep: the text to look for is missing');
  const isStored = flags.from !== undefined;
  // Stored events have no addresses, but may name their receiver.
  const words = isStored && !nameField ? [] : subscriptionWords(flags);
  const byName = isStored && words.length > 0;
  const values = valuesOf(flags, words);
  const filters = new EventFilters({
    zone,
    isZoneTyped: flags.timezone !== undefined,
    ...(givenPeriod(flags, now, zone) ?? givenBounds(flags, zone)),
    values: byName ? { ...values, subscriptionId: [] } : values,
    subscriptionWords: isStored ? [] : words,
    nameWords: byName ? [...words, ...(values.subscriptionId ?? [])] : [],
    nameField,
    conditions: (flags.where ?? []).map((text) => parseCondition(text, '--where', now, zone, valuesOfFile)),
    grepTexts: flags.grep ?? [],
  });
  filters.withSubscriptions([]).queries(now);
  return filters;
}

function valuesOf(flags: FilterFlags, words: readonly string[]): FilterValues {
  const values: Partial<Record<FilterField, string[]>> = {};
  for (const key of filterKeys)
    values[key.field] =
      key.kind === 'guid'
        ? guids(flags, key, key.field === 'subscriptionId' ? words : [])
        : textsOf(flags, key);
  const { publishStatus = [] } = values;
  if (flags.failed) values.publishStatus = [...new Set([...publishStatus, 'FAILED'])];
  return values;
}

function textsOf(flags: FilterFlags, { flag, noun, words, synonyms }: FilterKey): string[] {
  const texts = listed(flags[flag], `--${flag}`, noun);
  return [...new Set(words ? texts.map(oneOf(`--${flag}`, words, synonyms)) : texts)];
}

/** Flags of one bound: each has two names. */
const BOUNDS = [
  { bound: 'after', name: 'since' },
  { bound: 'before', name: 'until' },
] as const;

function givenBounds(flags: FilterFlags, zone: TimeZone) {
  const bounds: { after?: GivenTime; before?: GivenTime } = {};
  for (const { bound, name } of BOUNDS) {
    if (flags[name] !== undefined && flags[bound] !== undefined)
      throw new UsageError(`--${name} and --${bound} mean the same: give one of them`);
    const text = flags[name] ?? flags[bound];
    if (text === undefined) continue;
    const flag = `--${flags[name] === undefined ? bound : name}`;
    const time = parseTime(text, zone);
    if (!time) throw notATime(flag, text);
    bounds[bound] = { flag, text: text.trim(), time };
  }
  return bounds;
}

const PERIODS = [
  { name: 'day', read: readDayPeriod, forms: '2026-11-20, 20 Nov, yesterday or monday' },
  { name: 'month', read: readMonthPeriod, forms: '2026-11 or Nov 2026' },
] as const;

/** Relative days count from this machine's time. */
function givenPeriod(flags: FilterFlags, now: number, zone: TimeZone) {
  const [given, another] = PERIODS.filter(({ name }) => flags[name] !== undefined);
  if (!given) return undefined;
  const { name, read, forms } = given;
  const flag = `--${name}`;
  const excluded = (['since', 'after', 'until', 'before'] as const).find((one) => flags[one] !== undefined);
  const other = another?.name ?? excluded;
  if (other !== undefined)
    throw new UsageError(`${flag} and --${other} exclude each other: ${flag} has a beginning and an end`, {
      next: 'give one of them',
    });
  const typed = flags[name] as string;
  const period = read(typed, now, zone);
  if (!period)
    throw new UsageError(`${flag}: invalid value '${typed}': must be a ${name}`, {
      next: `write it as ${forms}; --since and --until take times of day`,
    });
  const bound = (instant: Instant): GivenTime => ({
    flag,
    text: period.text,
    time: { kind: 'instant', instant },
  });
  return { after: bound(period.after), before: bound(period.before) };
}

/** `\,` is a comma inside a value. */
function listed(texts: readonly string[] = [], flag: string, noun: string): string[] {
  return texts.flatMap((text) =>
    text.split(/(?<!\\),/).map((part) => {
      const value = part.replaceAll('\\,', ',').trim();
      if (value !== '') return value;
      const next = flag === '--type' ? advise`${hooktrail('event-types')} lists them` : undefined;
      throw new UsageError(`${flag}: ${noun} is missing in '${text}'`, { next });
    }),
  );
}

/** One value per line; skips empty lines. Throws `UsageError` if the file is unreadable or has no values. */
const valuesOfFile: ReadValues = (file, flag) => {
  // A byte order mark and the CR of a line end are white space too.
  const lines = textOfFile(file, flag).split('\n');
  const values = lines.map((line) => line.trim()).filter((line) => line !== '');
  if (values.length === 0)
    throw new UsageError(`${flag}: @${file} holds no value`, { next: 'give it one value a line' });
  return values;
};

function textOfFile(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const next = file === '-' ? '@/dev/stdin reads standard input' : undefined;
    throw new UsageError(`${flag}: @${file} cannot be read: ${faultText(error)}`, { cause: error, next });
  }
}

/** Words that are not ids are parts of callback addresses. */
function subscriptionWords({ subscription = [] }: FilterFlags): string[] {
  // Hexadecimal digits are probably part of an id, which is not in an address.
  const isPartOfId = (text: string) => /^[a-f-]*\d[0-9a-f-]*$/i.test(text);
  const words = subscription
    .flatMap(partsBesideIds)
    .map((text) => text.trim())
    .filter((text) => guidsIn(text).length === 0 && text !== '' && !isPartOfId(text));
  return [...new Set(words)];
}

/** Splits at commas only if some part is an id: otherwise a comma may belong to a name or a log line. */
function partsBesideIds(text: string): string[] {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  const isAllIds = parts.every((part) => guidsIn(part).length === 1);
  const isList = isAllIds || parts.some((part) => isGuid(part.trim()));
  return isList && parts.length > 0 ? parts : [text];
}

/** Throws `UsageError` for a text that is neither an id nor in `words`. */
function guids(flags: FilterFlags, key: FilterKey, words: readonly string[]): string[] {
  const { flag } = key;
  const given = (flags[flag] ?? []).flatMap(partsBesideIds);
  const found = given.flatMap((text) => {
    if (words.includes(text.trim())) return [];
    const whole = guidsIn(text);
    if (whole.length === 1) return whole;
    throw new UsageError(`--${flag}: ${notAGuid(text)}`, { next: nextOfId(text, flags, key) });
  });
  return distinctIds(found);
}

function nextOfId(text: string, { from }: FilterFlags, { flag, noun }: FilterKey): Advice | undefined {
  if (guidsIn(text).length > 1) return 'put one comma between two ids';
  const byPart = findByPart(text, noun, from);
  if (byPart !== undefined || flag !== 'subscription' || from === undefined) return byPart;
  return advise`stored events name no address; words choose them once the field is known that says who an event is for: ${hooktrail('config set name-field PATH')}`;
}

export const SEVERAL_PLACES = 'several files go through standard input: cat FILES | hooktrail … --from -';

const PLACES = 'an export or a file (NDJSON or a JSON array; - for standard input)';

export function addFromFlag(command: Command, places = PLACES): Command {
  return command.option(
    '--from <place>',
    `read events from ${places}; needs no sign-in`,
    (place: string, earlier?: string) => {
      if (earlier === undefined) return place;
      const message = `--from takes one place, but was given '${earlier}' and '${place}'`;
      throw new UsageError(message, { next: SEVERAL_PLACES });
    },
  );
}
