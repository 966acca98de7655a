import type { FieldPath } from '../items/field-path.ts';
import { type Health, receiverOf } from '../questions/health-row.ts';
import type { HealthReport } from './health.ts';

export function healthJson({ by, rows }: Pick<HealthReport, 'by' | 'rows'>) {
  return rows.map(({ values, ...row }) => ({
    ...valueMembers(by, values),
    ...healthMembers(row),
  }));
}

export function valueMembers(by: readonly FieldPath[], values: readonly unknown[]) {
  return {
    by: Object.fromEntries(by.map(({ text }, field) => [text, values[field]])),
    value: values[0],
  };
}

export type HealthMembers = ReturnType<typeof healthMembers>;

/** Without the values that identify the row. */
export function healthMembers(row: Omit<Health, 'values'>) {
  return {
    name: receiverOf(row),
    state: row.state,
    failed: row.failed,
    events: row.events,
    failingSince: row.failingSince?.text ?? null,
    edge: row.edge,
    lastFailed: row.lastFailed?.text ?? null,
    lastError: row.lastError ?? null,
    lastSuccess: row.lastSuccess?.text ?? null,
    silentSince: row.silentSince?.text ?? null,
    usualGapSeconds: row.usualGapSeconds ?? null,
    recent: row.recent,
  };
}
