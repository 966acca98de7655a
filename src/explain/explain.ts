import { type AdvisedCommand, hooktrailOver } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { memberPath } from '../items/field-path.ts';
import { conditionOn, itemFilter } from '../items/item-conditions.ts';
import { isGuid } from '../items/items.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type EventSource, type SourceOptions, windowOf, withEventSource } from '../sources/event-source.ts';
import { keepTold } from '../sources/stored-events.ts';
import { type Instant, instantAt, milliseconds, utcText } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import {
  type Cause,
  type CauseCondition,
  type Effect,
  type Explanation,
  explainTable,
} from './explain-table.ts';
import type { Count } from './find-causes.ts';

/** The time to compare with: the same length before it, or the same time a day or a week earlier. */
export type Baseline = 'previous' | '1d' | '7d';

export interface BaselineCounts extends Count {
  readonly after: Instant;
  readonly before: Instant;
  /** For each cause: the events for which its conditions but the time held then. */
  readonly ofCauses: readonly Count[];
}

export interface Explained extends Explanation {
  /** The service's host, or the place of stored events. */
  readonly name: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly baseline: BaselineCounts | undefined;
  /** Events of unknown outcome, which are left out. */
  readonly untold: number;
  /** The service's subscriptions, of which those in causes are known. */
  readonly names: SubscriptionNames | undefined;
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
    const names = source.askNames?.();
    const table = new ComparisonTable();
    for await (const { items, haveFailed } of source.readOutcomes(filters, source.window))
      table.add(items, haveFailed);
    if (table.rows === 0) source.doubt();
    const explanation = explainTable(table);
    await names?.learn(subscriptionsIn(explanation.causes));
    const { after, before } = windowOf(source, table.times.bounds, call.context.clock);
    const then = baseline && shifted({ after, before }, baseline, filters.zone);
    if (then && options.from !== undefined && !(await hasEventsBefore(source, then.after)))
      call.reporter.warning(
        `--baseline: ${source.name} has no event from before ${filters.zone.shown(then.after.text)}, and may lack some to compare with`,
      );
    if (then && milliseconds(then.before) > milliseconds(after))
      call.reporter.warning(
        `--baseline ${baseline}: the time explained is longer than that, and its events up to ${filters.zone.shown(then.before.text)} count in both`,
      );
    return {
      ...explanation,
      name: source.name,
      after,
      before,
      names,
      untold: source.warnOfUnknown(table.untold, table.times),
      baseline: then && (await countBaseline(source, then, explanation.causes)),
    };
  });
}

/** The ids of the subscriptions that conditions of some causes name. */
export function subscriptionsIn(causes: readonly Cause[]): string[] {
  return causes
    .flatMap(({ conditions, same }) => [...conditions, ...same])
    .flatMap(({ field, value }) => (field === 'subscriptionId' && typeof value === 'string' ? [value] : []));
}

/**
 * The command that lists the failed events: those of a cause, or all of them.
 */
export function searchCommand(
  cause: Cause | undefined,
  explained: Explained,
  filters: EventFilters,
  from?: string,
): AdvisedCommand {
  const narrowed = narrowedFilters(cause ? fieldConditions(cause) : [], filters.withStatuses());
  // Times that depend on the present are given as those that they were.
  const { isRelative, after, before } = filters;
  const since = cause?.after ?? (isRelative || (!after && from === undefined) ? explained.after : undefined);
  const until = cause?.before ?? (isRelative && before ? explained.before : undefined);
  const times = Object.entries({ since, until }).flatMap(([name, at]) => (at ? [{ name, at }] : []));
  return hooktrailOver(
    from,
    'events search --failed',
    ...narrowed.filters.words(...times.map(({ name }) => name)),
    ...narrowed.rest.flatMap(({ text }) => ['--where', text]),
    ...times.flatMap(({ name, at }) => [`--${name}`, at.text]),
  );
}

/**
 * The command that compares with all other events of the time; undefined if the filters chose all of them.
 */
export function wideCommand({ zone, after, before, ...filters }: EventFilters, from?: string) {
  if (new EventFilters(filters).withStatuses().texts().length === 0) return undefined;
  return hooktrailOver(from, 'events explain', ...new EventFilters({ zone, after, before }).words());
}

/** The object that `events explain --json` prints, with the command that lists the events of each cause. */
export function explanationJson(
  { baseline, names, ...rest }: Explained,
  commandOf: (cause: Cause) => string,
) {
  const named = ({ field, op, value }: CauseCondition) => {
    const id = field === 'subscriptionId' && typeof value === 'string' ? value : undefined;
    return { field, op, value, name: (id === undefined ? undefined : names?.nameOf(id)) ?? null };
  };
  const textOf = (instant: Instant | undefined) => instant?.text ?? null;
  return {
    ...countsJson(rest),
    subscriptions: rest.subscriptions,
    baseline: baseline ? countsJson(baseline) : null,
    causes: rest.causes.map((cause, index) => ({
      ...withoutBounds(cause),
      conditions: cause.conditions.map(named),
      command: commandOf(cause),
      baseline: baseline?.ofCauses[index] ?? null,
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
      ...(effect.delivered > 0 ? { delivered: effect.delivered } : {}),
      ...(effect.values.length > 0 ? { values: effect.values } : {}),
    })),
    notCompared: rest.notCompared,
    notLookedAt: rest.notLookedAt,
  };
}

function countsJson({ after, before, events, failed }: Omit<BaselineCounts, 'ofCauses'>) {
  return { after: utcText(after), before: utcText(before), events, failed };
}

/** The bounds of its span are told by its command. */
function withoutBounds({ after: _after, before: _before, ...cause }: Cause) {
  return cause;
}

function conditionJson({ field, op, value }: CauseCondition) {
  return { field, op, value };
}

function shifted({ after, before }: Pick<Explained, 'after' | 'before'>, baseline: Baseline, zone: TimeZone) {
  const [from, to] = [milliseconds(after), milliseconds(before)];
  // Days are those of the zone's clock, which may be put forward or back between them.
  const earlier = (time: number) =>
    zone.timesAt(time + zone.offsetAt(time) - (baseline === '1d' ? 1 : 7) * DAY_MS)[0] as number;
  const start = instantAt(baseline === 'previous' ? 2 * from - to : earlier(from));
  const end = baseline === 'previous' ? after : instantAt(earlier(to));
  if (!start || !end) throw new UsageError(`--baseline: there is no time as long before ${after.text}`);
  return { after: start, before: end };
}

/** True if the events begin before that time, so that those after it are likely to be there. */
async function hasEventsBefore(source: EventSource, before: Instant): Promise<boolean> {
  for await (const { items } of source.read(new EventFilters(), { before })) if (items.count > 0) return true;
  return false;
}

async function countBaseline(
  source: EventSource,
  within: { after: Instant; before: Instant },
  causes: readonly Cause[],
): Promise<BaselineCounts> {
  const isFailed = itemFilter([conditionOn(memberPath('publishStatus'), '=', '"FAILED"')], []);
  // The first one counts all events.
  const counts = [[], ...causes.map(fieldConditions)].map((conditions) => ({
    keep: itemFilter(
      conditions.map(({ condition }) => condition),
      [],
    ),
    events: 0,
    failed: 0,
  }));
  for await (const { items, haveFailed } of source.readOutcomes(source.filters, within)) {
    const told = haveFailed === undefined ? keepTold(items) : items;
    for (const count of counts) {
      const kept = count.keep(told);
      count.events += kept.count;
      count.failed += haveFailed === undefined ? isFailed(kept).count : haveFailed ? kept.count : 0;
    }
  }
  const { events, failed } = counts[0] as Count;
  const ofCauses = counts.slice(1).map(({ events, failed }) => ({ events, failed }));
  return { ...within, events, failed, ofCauses };
}

/** A cause's conditions but for its span of time, which is not there at another time. */
function fieldConditions(cause: Cause): CauseCondition[] {
  return cause.conditions.filter(({ field }) => field !== 'createdOn');
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
