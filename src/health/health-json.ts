import type { Health } from '../questions/health-row.ts';
import type { HealthReport } from './health.ts';

/** The rows as `events health --json` prints them. */
export function healthJson({ by, rows }: Pick<HealthReport, 'by' | 'rows'>) {
  return rows.map(({ values, ...row }) => ({
    by: Object.fromEntries(by.map(({ text }, field) => [text, values[field]])),
    value: values[0],
    ...healthMembers(row),
  }));
}

/** The members of a row's JSON beside the values that it is about. */
export function healthMembers(row: Omit<Health, 'values'>) {
  return {
    // The address of a subscription that several names share identifies it better than the first of them.
    name: row.isShared ? (row.address ?? row.who) : (row.who ?? row.address),
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
