import { type Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { isGuid, notAGuid } from '../items/guid.ts';
import { compareInstants, type Instant, parseInstant } from '../items/instant.ts';
import { suggestion } from '../settings/nearest.ts';
import type { Query } from './event-query.ts';

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
}

const FILTERS = 'Filters:';

/** Adds the filters that every command over events takes. */
export function addFilterFlags(command: Command): Command {
  const repeated = (flags: string, description: string) =>
    new Option(flags, `${description} (repeatable: any of them)`).argParser(collected).helpGroup(FILTERS);
  const time = (flags: string, description: string) => new Option(flags, description).helpGroup(FILTERS);
  return command
    .addOption(
      time('--since <time>', 'created later than this: 2026-11-01, 2026-11-01T08:30:00Z, 2h, 7d, today'),
    )
    .addOption(time('--after <time>', 'the same as --since').hideHelp())
    .addOption(time('--until <time>', 'created earlier than this'))
    .addOption(time('--before <time>', 'the same as --until').hideHelp())
    .addOption(repeated('--subscription <guid>', 'of this subscription'))
    .addOption(repeated('--id <guid>', 'with this event id'))
    .addOption(repeated('--status <status>', 'with this publish status: SUCCESS or FAILED'))
    .addOption(time('--failed', 'the same as --status FAILED'))
    .addOption(repeated('--type <name>', 'of this event type, as `hooktrail event-types` lists them'));
}

/**
 * The searches that the flags ask for: one for each combination of repeated flags, in the order of the query keys.
 * `now` is in milliseconds since the epoch. Throws `UsageError` that names the flag.
 */
export function filterQueries(flags: FilterFlags, now: number): Query[] {
  const after = instant(flags.after, '--after', flags.since, '--since', now);
  const before = instant(flags.before, '--before', flags.until, '--until', now);
  if (after && before && compareInstants(after.value, before.value) >= 0) {
    throw new UsageError(
      `${after.flag} ${after.text} and ${before.flag} ${before.text} leave no time between them: nothing can match`,
    );
  }
  const statuses = [...(flags.status ?? []).map(parseStatus), ...(flags.failed ? (['FAILED'] as const) : [])];
  let queries: Query[] = [{ after: after?.value, before: before?.value }];
  queries = combined(queries, 'subscriptionId', guids(flags.subscription ?? [], '--subscription'));
  queries = combined(queries, 'eventId', guids(flags.id ?? [], '--id'));
  queries = combined(queries, 'publishStatus', statuses);
  return combined(queries, 'eventType', (flags.type ?? []).map(parseType));
}

/** Each once: case is no difference between GUIDs, and two searches for one would find everything twice. */
function guids(texts: readonly string[], flag: string): string[] {
  const distinct = new Map<string, string>();
  for (const text of texts) {
    if (!isGuid(text)) throw new UsageError(`${flag}: ${notAGuid(text)}`);
    const key = text.toLowerCase();
    if (!distinct.has(key)) distinct.set(key, text);
  }
  return [...distinct.values()];
}

function collected(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

function combined<Field extends keyof Query>(
  queries: Query[],
  field: Field,
  values: readonly Query[Field][],
): Query[] {
  const distinct = [...new Set(values)];
  return distinct.length === 0
    ? queries
    : queries.flatMap((query) => distinct.map((value) => ({ ...query, [field]: value })));
}

function instant(
  text: string | undefined,
  flag: string,
  synonymText: string | undefined,
  synonym: string,
  now: number,
): { value: Instant; flag: string; text: string } | undefined {
  if (text !== undefined && synonymText !== undefined) {
    throw new UsageError(`${flag} and ${synonym} mean the same: give one of them`);
  }
  const given = text ?? synonymText;
  if (given === undefined) return undefined;
  const named = text === undefined ? synonym : flag;
  return { value: parseInstant(given, named, now), flag: named, text: given };
}

function parseStatus(text: string): 'SUCCESS' | 'FAILED' {
  const status = text.toUpperCase();
  if (status === 'SUCCESS' || status === 'FAILED') return status;
  throw new UsageError(`--status: invalid value '${text}': must be SUCCESS or FAILED`, {
    next: suggestion(text, ['SUCCESS', 'FAILED']),
  });
}

function parseType(text: string): string {
  if (text !== '') return text;
  throw new UsageError('--type: an event type is missing; `hooktrail event-types` lists them');
}

/** Filters by the names of their flags, as they were typed. */
export type Filters = Readonly<Record<string, string | readonly string[]>>;

/** The filters as typed, synonyms made one and the order of repeated flags forgotten. */
export function typedFilters(flags: FilterFlags): Filters {
  const { subscription, id, type } = flags;
  const after = flags.after ?? flags.since;
  const before = flags.before ?? flags.until;
  const statuses = (flags.status ?? []).map((status) => status.toUpperCase());
  const lists = { subscription, id, status: [...statuses, ...(flags.failed ? ['FAILED'] : [])], type };
  return {
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, values]) =>
        values && values.length > 0 ? [[name, [...new Set(values)].sort()]] : [],
      ),
    ),
  };
}

/** Each filter as a flag and its value. */
export function filterTexts(filters: Filters): string[] {
  return Object.entries(filters).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `--${name} ${one}`),
  );
}
