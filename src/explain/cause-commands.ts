import { type AdvisedCommand, hooktrailOver } from '../advice.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { isOfZone } from '../items/field-path.ts';
import type { FilterField } from '../items/filter-keys.ts';
import { type CauseCondition, fieldConditionsOf, isServiceFilter } from './cause-conditions.ts';
import type { Cause } from './exact-counts.ts';
import type { Explained } from './explain.ts';

export function searchCommand(
  cause: Pick<Cause, 'conditions' | 'after' | 'before'> | undefined,
  explained: Pick<Explained, 'after' | 'before'>,
  filters: EventFilters,
  from?: string,
): AdvisedCommand {
  const narrowed = narrowedFilters(cause ? fieldConditionsOf(cause) : [], filters.withStatuses());
  // Relative times are printed as the absolute times they resolved to.
  const { isRelative, after, before } = filters;
  const since = cause?.after ?? (isRelative || (!after && from === undefined) ? explained.after : undefined);
  const until = cause?.before ?? (isRelative && before ? explained.before : undefined);
  const times = Object.entries({ since, until }).flatMap(([name, at]) => (at ? [{ name, at }] : []));
  return hooktrailOver(
    from,
    'events search --failed',
    ...narrowed.filters.words(...times.map(({ name }) => name)),
    ...narrowed.rest.flatMap(({ text }) => ['--where', text]),
    ...zoneWords(narrowed.rest, filters),
    ...times.flatMap(({ name, at }) => [`--${name}`, at.text]),
  );
}

/** Hours and weekdays depend on the zone, which may be set differently when the command is typed. */
function zoneWords(conditions: readonly CauseCondition[], { zone, isZoneTyped }: EventFilters): string[] {
  const dependsOnZone = conditions.some(({ condition }) => isOfZone(condition.field));
  return dependsOnZone && !isZoneTyped ? ['--timezone', zone.name] : [];
}

/** Compares with all other events of the same time; undefined if the filters already include all of them. */
export function wideCommand({ zone, isZoneTyped, after, before, ...filters }: EventFilters, from?: string) {
  if (new EventFilters(filters).withStatuses().texts().length === 0) return undefined;
  return hooktrailOver(
    from,
    'events explain',
    ...new EventFilters({ zone, isZoneTyped, after, before }).words(),
  );
}

function narrowedFilters(conditions: readonly CauseCondition[], filters: EventFilters) {
  const rest: CauseCondition[] = [];
  let narrowed = filters;
  for (const condition of conditions) {
    const { field, value } = condition;
    if (!isServiceFilter(condition)) rest.push(condition);
    else if (field === 'eventType') narrowed = narrowed.withTypes([value as string], [value as string]);
    else narrowed = narrowed.withValues(field as FilterField, [value as string]);
  }
  return { filters: narrowed, rest };
}
