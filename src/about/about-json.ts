import type { CsvRow } from '../formats/csv.ts';
import { healthMembers } from '../health/health-json.ts';
import type { Outage } from '../questions/outage.ts';
import { percentilesJson } from '../statistics/percentiles.ts';
import { utcText } from '../time/instant.ts';
import type { About } from './about.ts';

/** `next` are the commands to suggest. */
export function aboutJson(about: About, next: readonly string[]) {
  const { name: _, ...health } = healthMembers({ ...about.health, address: about.address });
  const { outage, largestOutage, earlier, latency } = about;
  return {
    word: about.word,
    foundBy: about.by,
    subscriptionIds: about.subscriptionIds,
    name: about.name,
    address: about.address,
    endpoint: about.endpoint,
    after: utcText(about.after),
    before: utcText(about.before),
    ...health,
    earlier: earlier
      ? {
          after: utcText(earlier.after),
          before: utcText(earlier.before),
          events: earlier.events,
          failed: earlier.failed,
        }
      : null,
    outage: outage ? outageJson(outage) : null,
    largestOutage: largestOutage ? { ...outageJson(largestOutage), failed: largestOutage.failed } : null,
    causes: about.causes.map(({ conditions, failed, events }) => ({
      conditions: conditions.map(({ field, op, value }) => ({ field, op, value })),
      failed,
      events,
    })),
    names: about.ofNames.map(({ name, state, failed, events, failingSince }) => ({
      name,
      state,
      failed,
      events,
      failingSince: failingSince?.text ?? null,
    })),
    shared: about.shared,
    latency: latency ? latencyJson(latency) : null,
    next,
  };
}

function outageJson({ since, edge, until, lastFailed }: Outage) {
  return { since: since.text, edge, until: until?.text ?? null, lastFailed: lastFailed.text };
}

function latencyJson({ field, percentiles }: NonNullable<About['latency']>) {
  return { field, count: percentiles.count, ...percentilesJson(percentiles) };
}

export function aboutCsv(
  json: ReturnType<typeof aboutJson>,
  guarded: (text: string) => string,
): { titles: string[]; rows: CsvRow[] } {
  const { causes: _causes, next: _next, names: _names, subscriptionIds, earlier, ...others } = json;
  const { outage, largestOutage, shared, latency, ...plain } = others;
  const cells: Record<string, unknown> = {
    ...plain,
    subscriptionIds: subscriptionIds.join(' '),
    'earlier.events': earlier?.events ?? null,
    'earlier.failed': earlier?.failed ?? null,
    'outage.since': outage?.since ?? null,
    'outage.until': outage?.until ?? null,
    'largestOutage.since': largestOutage?.since ?? null,
    'largestOutage.until': largestOutage?.until ?? null,
    'largestOutage.failed': largestOutage?.failed ?? null,
    'shared.subscriptions': shared.subscriptions,
    'shared.withFailures': shared.withFailures,
    'shared.failing': shared.failing,
    'latency.count': latency?.count ?? null,
    'latency.p50': latency?.p50 ?? null,
    'latency.p95': latency?.p95 ?? null,
    'latency.p99': latency?.p99 ?? null,
    'latency.most': latency?.most ?? null,
  };
  const cellOf = (cell: unknown) => {
    if (cell === null) return null;
    return typeof cell === 'number' ? cell : guarded(String(cell));
  };
  return { titles: Object.keys(cells), rows: [Object.values(cells).map(cellOf)] };
}
