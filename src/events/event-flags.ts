import { type Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { guidsIn, notAGuid } from '../json/guid.ts';
import { parseCondition } from '../json/item-conditions.ts';
import { didYouMean } from '../settings/command-words.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { addTimezoneFlag } from '../settings/setting-names.ts';
import { parseTime } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { EventFilters, type GivenTime, notATime, type PublishStatus } from './event-filters.ts';
import { PAGE_SIZE } from './event-query.ts';

/** The filter flags as typed. */
export interface FilterFlags {
  readonly after?: string;
  readonly since?: string;
  readonly before?: string;
  readonly until?: string;
  readonly subscription?: string[];
  readonly id?: string[];
  readonly status?: string[];
  readonly failed?: true;
  readonly type?: string[];
  readonly where?: string[];
  readonly grep?: string[];
}

const FILTERS = 'Filters:';

/** Adds the filters that every command over events takes, and the zone of their times. */
export function addFilterFlags(command: Command): Command {
  const one = (flags: string, description: string) => new Option(flags, description).helpGroup(FILTERS);
  const several = (flags: string, description: string) =>
    one(flags, `${description} (repeatable, or with commas: any of them)`).argParser(collected);
  command
    .addOption(
      one(
        '--since <time>',
        'created later than this: 2026-11-01, 2026-11-01T08:30:00Z, 08:00, 2h, 7d, today',
      ),
    )
    .addOption(one('--after <time>', 'the same as --since').hideHelp())
    .addOption(one('--until <time>', 'created earlier than this'))
    .addOption(one('--before <time>', 'the same as --until').hideHelp())
    .addOption(several('--subscription <guid>', 'of this subscription'))
    .addOption(several('--id <guid>', 'with this event id'))
    .addOption(several('--status <status>', 'with this publish status: SUCCESS or FAILED'))
    .addOption(one('--failed', 'the same as --status FAILED'))
    .addOption(
      several('--type <name>', 'of this event type, in any case; order.* for all on offer that match'),
    )
    .addOption(
      one(
        '--where <condition>',
        "with a field that matches: 'delivery.attempts >= 3'; also = != < <= > ~ (contains), FIELD (present) and '!FIELD'",
      ).argParser(collected),
    )
    .addOption(
      one('--grep <text>', 'with this text in a value or a name, ignoring case').argParser(collected),
    );
  return addTimezoneFlag(command);
}

function collected(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/**
 * The filters that the flags ask for. `now` (milliseconds since the epoch) is this machine's time, to find out whether they
 * can be resolved at all. Times without a zone are those of `zone`. Throws `UsageError` that names the flag.
 */
export function eventFilters(flags: FilterFlags, now: number, zone: TimeZone = UTC): EventFilters {
  const statuses = listed(flags.status, '--status').map(parseStatus);
  const filters = new EventFilters({
    zone,
    after: givenTime(flags, zone, 'since', 'after'),
    before: givenTime(flags, zone, 'until', 'before'),
    subscriptionIds: guids(flags.subscription ?? [], '--subscription'),
    eventIds: guids(flags.id ?? [], '--id'),
    statuses: [...new Set(flags.failed ? [...statuses, 'FAILED' as const] : statuses)],
    eventTypes: [...new Set(listed(flags.type, '--type'))],
    conditions: (flags.where ?? []).map((text) => parseCondition(text, '--where', now, zone)),
    grepTexts: (flags.grep ?? []).map(grepText),
  });
  filters.queries(now);
  return filters;
}

function givenTime(
  flags: FilterFlags,
  zone: TimeZone,
  name: 'since' | 'until',
  synonym: 'after' | 'before',
): GivenTime | undefined {
  if (flags[name] !== undefined && flags[synonym] !== undefined)
    throw new UsageError(`--${name} and --${synonym} mean the same: give one of them`);
  const text = flags[name] ?? flags[synonym];
  if (text === undefined) return undefined;
  const flag = `--${flags[name] === undefined ? synonym : name}`;
  const time = parseTime(text, zone);
  if (!time) throw notATime(flag, text);
  return { flag, text: text.trim(), time };
}

/** The values of a flag that is repeated or holds commas; `\,` is a comma inside a value. */
function listed(texts: readonly string[] = [], flag: string): string[] {
  return texts.flatMap((text) =>
    text.split(/(?<!\\),/).map((part) => {
      const value = part.replaceAll('\\,', ',').trim();
      if (value !== '') return value;
      const what = flag === '--type' ? 'an event type' : 'a status';
      throw new UsageError(`${flag}: ${what} is missing in '${text}'`, {
        next: flag === '--type' ? '`hooktrail event-types` lists them' : undefined,
      });
    }),
  );
}

function grepText(text: string): string {
  if (text === '') throw new UsageError('--grep: the text to look for is missing');
  return text;
}

function parseStatus(text: string): PublishStatus {
  const status = text.toUpperCase();
  if (status === 'SUCCESS' || status === 'FAILED') return status;
  throw new UsageError(`--status: invalid value '${text}': must be SUCCESS or FAILED`, {
    ...didYouMean(text, ['SUCCESS', 'FAILED']),
  });
}

/** Removes duplicates, ignoring case: two searches for one GUID would find everything twice. */
function guids(texts: readonly string[], flag: string): string[] {
  const found = texts.flatMap((text) => {
    const parts = text.split(',').map(guidsIn);
    if (parts.every((guids) => guids.length === 1)) return parts.flat();
    const whole = guidsIn(text);
    if (whole.length === 1) return whole;
    throw new UsageError(`${flag}: ${notAGuid(text)}`);
  });
  return [...new Map(found.toReversed().map((guid) => [guid.toLowerCase(), guid])).values()].reverse();
}

export interface FromFlags {
  readonly from?: string;
}

/** For commands that can take their events from a file. */
export function addFromFlag(command: Command): Command {
  return command.option(
    '--from <place>',
    'events of an export, of a file (NDJSON or a JSON array) or of standard input (-); needs no sign-in',
  );
}

export interface PageFlags {
  readonly pageSize?: number;
  readonly concurrency?: number;
}

export const CONCURRENCY = 4;

/** The options of a read of many pages. */
export function addPageFlags(command: Command): Command {
  return command
    .option(
      '--page-size <number>',
      `events per request, 1 to ${PAGE_SIZE} (default: ${PAGE_SIZE})`,
      wholeNumber('--page-size', 1, PAGE_SIZE),
    )
    .addOption(concurrencyFlag());
}

/** The option of a read that asks for several things at once; its value without the flag is `usual`. */
export function concurrencyFlag(usual = CONCURRENCY): Option {
  return new Option('--concurrency <number>', `requests at once, 1 to 16 (default: ${usual})`).argParser(
    wholeNumber('--concurrency', 1, 16),
  );
}

/** The flags with their defaults. */
export function pageOptions({ pageSize = PAGE_SIZE, concurrency = CONCURRENCY }: PageFlags) {
  return { pageSize, concurrency };
}

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

/** For commands that can show their requests instead of sending them. */
export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/**
 * Returns how to show the requests, or undefined to send them. Throws `UsageError` if both ways to show them are given.
 */
export function previewForm({ dryRun, curl, from }: PreviewFlags & FromFlags): 'urls' | 'curl' | undefined {
  if ((dryRun || curl) && from !== undefined)
    throw new UsageError('--from sends no requests: --dry-run and --curl have nothing to show');
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}

export interface StatsFlags {
  readonly buckets?: number;
  readonly concurrency?: number;
}

/** Twice as many as for reading pages: the answer to a count holds a single event. */
const COUNTS_AT_ONCE = 8;

/** For commands that show counts over time. */
export function addStatsFlags(command: Command): Command {
  return command
    .option(
      '--buckets <number>',
      'number of equal parts of the time line, 1 to 500 (default: parts that begin on the clock, such as full hours)',
      wholeNumber('--buckets', 1, 500),
    )
    .addOption(concurrencyFlag(COUNTS_AT_ONCE));
}

/** The flags with their defaults. */
export function statsOptions({ buckets, concurrency = COUNTS_AT_ONCE }: StatsFlags) {
  return { buckets, concurrency };
}
