import { type Health, receiverOf } from '../questions/health-row.ts';
import type { HealthReport } from './health.ts';

export function healthJson({ by, rows }: Pick<HealthReport, 'by' | 'rows'>) {
  return rows.map(({ values, ...row }) => ({
    by: Object.fromEntries(by.map(({ text }, field) => [text, values[field]])),
    value: values[0],
    ...healthMembers(row),
  }));
}

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
