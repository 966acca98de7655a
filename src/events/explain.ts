import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { type Condition, itemFilter, parseCondition } from '../json/item-conditions.ts';
import { memberPath } from '../json/item-fields.ts';
import { isGuid } from '../json/items.ts';
import { shellWord } from '../settings/flag-values.ts';
import { type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { ComparisonTable } from './comparison-table.ts';
import { EventFilters } from './event-filters.ts';
import type { Query } from './event-query.ts';
import { type EventSource, type SourceOptions, windowOf, withEventSource } from './event-source.ts';
import {
  type Cause,
  type CauseCondition,
  type Effect,
  type Explanation,
  explainTable,
} from './explain-table.ts';
import { type Count, isCause } from './find-causes.ts';
import type { CountQueries } from './statistics.ts';

/** The time to compare with: the same length before it, or the same time a day or a week earlier. */
export type Baseline = 'previous' | '1d' | '7d';

export interface BaselineCounts extends Count {
  readonly after: Instant;
  readonly before: Instant;
  /** For each cause: whether it made events fail then, too. */
  readonly isAlsoThen: readonly boolean[];
}

export interface Explained extends Explanation {
  /** The service's host, or the place of stored events. */
  readonly name: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly baseline: BaselineCounts | undefined;
}

/** Explains the failures among the events that the filters choose, whatever status they name. */
export async function explainEvents(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { baseline, ...options }: SourceOptions & { readonly baseline?: Baseline | undefined },
): Promise<Explained> {
  const both = options.filters.withStatuses();
  return await withEventSource(call, { ...options, filters: both }, async (source) => {
    const { filters } = source;
    if (baseline && source.isReadOnce)
      throw new UsageError('--baseline: standard input is read once, and the baseline has other events', {
        next: 'write the events to a file and name that with --from',
      });
    const table = new ComparisonTable();
    for await (const { items, haveFailed } of source.readOutcomes(filters, source.window))
      table.add(items, haveFailed);
    if (table.rows === 0) source.doubt();
    const explanation = explainTable(table);
    const { after, before } = windowOf(source, table.times.bounds, call.context.clock);
    const then = baseline && shifted({ after, before }, baseline);
    if (then && options.from !== undefined && !(await hasEventsBefore(source, then.after)))
      call.reporter.warning(
        `--baseline: ${source.name} has no event from before ${filters.zone.shown(then.after.text)}, and may lack some to compare with`,
      );
    return {
      ...explanation,
      name: source.name,
      after,
      before,
      baseline: then && (await countBaseline(source, filters, then, explanation.causes)),
    };
  });
}

/** True if the events begin before that time, so that those after it are likely to be there. */
async function hasEventsBefore(source: EventSource, before: Instant): Promise<boolean> {
  for await (const { items } of source.read(new EventFilters(), { before })) if (items.count > 0) return true;
  return false;
}

const DAY_MS = 86_400_000;

function shifted({ after, before }: { after: Instant; before: Instant }, baseline: Baseline) {
  const length = milliseconds(before) - milliseconds(after);
  const back = baseline === 'previous' ? length : baseline === '1d' ? DAY_MS : 7 * DAY_MS;
  return {
    after: knownInstant(milliseconds(after) - back),
    before: baseline === 'previous' ? after : knownInstant(milliseconds(before) - back),
  };
}

async function countBaseline(
  source: EventSource,
  filters: EventFilters,
  within: { after: Instant; before: Instant },
  causes: readonly Cause[],
): Promise<BaselineCounts> {
  // A cause that is a time and nothing else is not there at another time.
  const conditions = causes.map((cause) => cause.conditions.filter(({ field }) => field !== 'createdOn'));
  const queries = conditions.map((own) => (own.length === 0 ? [] : queriesFor(own, filters, within)));
  const isCountable = queries.every((query) => query) && !filters.keep;
  const { whole, inside } =
    source.count && isCountable
      ? await countAll(source.count, filters, within, queries as Query[][])
      : await readAll(source, filters, within, conditions);
  return { ...within, ...whole, isAlsoThen: inside.map((counts) => isCause(counts, whole)) };
}

/** The searches for a cause's events, if the service filters by all of its conditions; undefined if not. */
function queriesFor(
  conditions: readonly CauseCondition[],
  filters: EventFilters,
  within: Pick<Query, 'after' | 'before'>,
): Query[] | undefined {
  const narrowed = narrowedFilters(conditions, filters);
  return narrowed.rest.length > 0
    ? undefined
    : narrowed.filters
        .withoutTimes()
        .queries(0)
        .map((query) => ({ ...query, ...within }));
}

async function countAll(
  count: CountQueries,
  filters: EventFilters,
  within: Pick<Query, 'after' | 'before'>,
  queries: readonly (readonly Query[])[],
): Promise<{ whole: Count; inside: Count[] }> {
  const all = filters
    .withoutTimes()
    .queries(0)
    .map((query): Query => ({ ...query, ...within }));
  const sets = [all, ...queries];
  const asked = sets.flat().flatMap((query): Query[] => [query, { ...query, publishStatus: 'FAILED' }]);
  const counts = (await count(asked)).values();
  const sums = sets.map((set) => {
    const sum = { events: 0, failed: 0 };
    for (const _ of set) {
      sum.events += counts.next().value as number;
      sum.failed += counts.next().value as number;
    }
    return sum;
  });
  return { whole: sums[0] as Count, inside: sums.slice(1) };
}

async function readAll(
  source: EventSource,
  filters: EventFilters,
  within: Pick<Query, 'after' | 'before'>,
  conditions: readonly (readonly CauseCondition[])[],
): Promise<{ whole: Count; inside: Count[] }> {
  const parsed = (own: readonly CauseCondition[]) =>
    own.map(({ text }) => parseCondition(text, '--where', 0));
  const keeps = [[], ...conditions.map(parsed)].map((own: Condition[]) => itemFilter(own, []));
  const isFailed = itemFilter([failedCondition()], []);
  const sums = keeps.map(() => ({ events: 0, failed: 0 }));
  for await (const { items, haveFailed } of source.readOutcomes(filters, within)) {
    for (const [index, keep] of keeps.entries()) {
      if (index > 0 && conditions[index - 1]?.length === 0) continue;
      const kept = keep(items);
      const sum = sums[index] as { events: number; failed: number };
      sum.events += kept.count;
      sum.failed += haveFailed === undefined ? isFailed(kept).count : haveFailed ? kept.count : 0;
    }
  }
  return { whole: sums[0] as Count, inside: sums.slice(1) };
}

function failedCondition(): Condition {
  const field = memberPath('publishStatus');
  return { text: '', field, operator: '=', value: 'FAILED', quoted: true, instant: undefined };
}

/** The filters with the conditions that the service filters by itself, and the other conditions. */
function narrowedFilters(conditions: readonly CauseCondition[], filters: EventFilters) {
  const rest: CauseCondition[] = [];
  let narrowed = filters;
  for (const condition of conditions) {
    const { field, op, value } = condition;
    const text = op === '=' && typeof value === 'string' ? value : '';
    // A type of a filter may be a pattern, and its subscription is a GUID.
    if (field === 'eventType' && text !== '' && !/[*,\\]/.test(text))
      narrowed = narrowed.withTypes([text], [text]);
    else if (field === 'subscriptionId' && isGuid(text))
      narrowed = new EventFilters({ ...narrowed, subscriptionIds: [text] });
    else rest.push(condition);
  }
  return { filters: narrowed, rest };
}

/** The command, in the words of a POSIX shell, that lists the failed events: those of a cause, or all of them. */
export function searchCommand(
  cause: Cause | undefined,
  explained: Explained,
  filters: EventFilters,
  from?: string,
): string {
  const fields = cause?.conditions.filter(({ field }) => field !== 'createdOn') ?? [];
  const narrowed = narrowedFilters(fields, filters.withStatuses());
  const isAbsolute = filters.after?.time.kind === 'instant';
  const since = cause?.after?.text ?? (isAbsolute || from !== undefined ? undefined : explained.after.text);
  const until = cause?.before?.text;
  const without = [...(since === undefined ? [] : ['since']), ...(until === undefined ? [] : ['until'])];
  return [
    'hooktrail events search --failed',
    ...narrowed.filters.words(...without),
    ...narrowed.rest.flatMap(({ text }) => ['--where', shellWord(text)]),
    ...(since === undefined ? [] : ['--since', since]),
    ...(until === undefined ? [] : ['--until', until]),
    ...(from === undefined ? [] : ['--from', shellWord(from)]),
  ].join(' ');
}

/** The command that compares with all other events of the time; undefined if the filters chose all of them. */
export function wideCommand({ zone, after, before, ...filters }: EventFilters, from?: string) {
  const isWide = new EventFilters(filters).withStatuses().texts().length === 0;
  if (isWide) return undefined;
  const source = from === undefined ? [] : ['--from', shellWord(from)];
  const words = new EventFilters({ zone, after, before }).words();
  return ['hooktrail events explain', ...words, ...source].join(' ');
}

/** The object that `events explain --json` prints. */
export function explanationJson({ after, before, events, failed, baseline, ...rest }: Explained) {
  const textOf = (instant: Instant | undefined) => instant?.text ?? null;
  return {
    after: after.text,
    before: before.text,
    events,
    failed,
    baseline: baseline
      ? {
          after: baseline.after.text,
          before: baseline.before.text,
          events: baseline.events,
          failed: baseline.failed,
        }
      : null,
    causes: rest.causes.map((cause) => ({
      conditions: cause.conditions.map(conditionJson),
      failed: cause.failed,
      events: cause.events,
      failedWithout: cause.failedWithout,
      eventsWithout: cause.eventsWithout,
      p: cause.p,
      same: cause.same.map(conditionJson),
      firstFailed: textOf(cause.firstFailed),
      lastFailed: textOf(cause.lastFailed),
      lastSuccess: textOf(cause.lastSuccess),
      failingSince: textOf(cause.failingSince),
    })),
    unexplained: rest.unexplained,
    onlyInFailures: rest.onlyInFailures.map((effect: Effect) => ({
      ...conditionJson(effect),
      failed: effect.failed,
      ...(effect.values.length > 0 ? { values: effect.values } : {}),
    })),
    notCompared: rest.notCompared,
  };
}

function conditionJson({ field, op, value }: CauseCondition) {
  return { field, op, value };
}
