import type { Output } from '../context.ts';
import { failureRate, type Stats, type Tally } from '../events/statistics.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';
import { csvLines, csvText } from './csv.ts';
import { UNLISTED } from './statistics-text.ts';

/** The statistics as a value for JSON. Times as they were sent to the service; null where a number was not asked for. */
export function statsJson({ window, types, buckets, ...whole }: Stats) {
  return {
    after: window.after.text,
    before: window.before.text,
    ...tallyJson(whole),
    types: types.map(({ eventType, ...tally }) => ({ eventType, ...tallyJson(tally) })),
    buckets: buckets.map(({ from, to, ...tally }) => ({ from: from.text, to: to.text, ...tallyJson(tally) })),
  };
}

function tallyJson(tally: Tally) {
  const { total, success, failed } = tally;
  return { total, success, failed, failureRate: failureRate(tally) };
}

/** The table of types as CSV. */
export function statsCsv({ types }: Stats, output: Pick<Output, 'isTerminal'>): string {
  const safe = (text: string) => (output.isTerminal ? terminalSafe(text) : text);
  const rows = types.map((type) => [
    safe(csvText(type.eventType ?? UNLISTED, false)),
    type.total,
    type.success,
    type.failed,
    failureRate(type),
  ]);
  return csvLines([['eventType', 'total', 'success', 'failed', 'failureRate'], ...rows]);
}
