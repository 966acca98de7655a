import { utcText } from '../../time/instant.ts';
import type { ReconciliationReport } from './reconcile.ts';

export function reconciliationJson(report: ReconciliationReport) {
  const { after, before, received, records, both, missing } = report;
  return {
    after: utcText(after),
    before: utcText(before),
    received,
    records,
    both,
    missing: {
      ...missing,
      groups: report.groups.map(({ subscriptionId, hour, status, count, first, last }) => ({
        by: { subscriptionId, 'createdOn:hour': hour },
        address: subscriptionId === null ? null : (report.addressOf(subscriptionId) ?? null),
        status,
        count,
        first: first ? utcText(first) : null,
        last: last ? utcText(last) : null,
      })),
      gaps: report.gaps.map(({ subscriptionId, count, first, last }) => ({
        subscriptionId,
        count,
        first: new Date(first).toISOString(),
        last: new Date(last).toISOString(),
      })),
    },
    failedButReceived: report.failedButReceived,
    receivedTwice: report.receivedTwice,
    notInWindow: report.notInWindow,
  };
}
