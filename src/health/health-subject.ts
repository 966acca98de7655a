import { UsageError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';

/** The default; the service filters by it (service description, part 4). */
export const SUBSCRIPTION: readonly FieldPath[] = [memberPath('subscriptionId')];

export function refuseStatuses({ statuses }: EventFilters): void {
  if (statuses.length > 0)
    throw new UsageError('--status: health is about failures and successes alike', {
      next: 'leave --status and --failed out: what fails is listed first',
    });
}

export function areSubscriptions(by: readonly FieldPath[]): boolean {
  return by.length === 1 && by[0]?.steps.join('.') === 'subscriptionId';
}

/** Undefined if the service cannot filter by the field of these rows. */
export function filtersOfRow(
  filters: EventFilters,
  by: readonly FieldPath[],
  [value]: readonly unknown[],
): EventFilters | undefined {
  const [field] = by;
  if (by.length !== 1 || typeof value !== 'string') return undefined;
  if (areSubscriptions(by)) return filters.withSubscriptions([value]);
  return field?.text === 'eventType' && !value.includes('*')
    ? filters.withTypes([value], [value])
    : undefined;
}
