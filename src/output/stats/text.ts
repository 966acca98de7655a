import { failureRate, type Stats, type TypeTally } from '../../events/stats/stats.ts';
import { cutTo, padTo, widest } from '../cell-width.ts';
import { grouped, percent } from '../numbers-text.ts';
import type { Palette } from '../palette.ts';
import { oneLine } from '../table/cell.ts';
import { bar, rateScale } from './bars.ts';
import { timelineText } from './timeline.ts';

export interface StatsLook {
  /** Columns to fit into; undefined where text is never cut. */
  readonly room: number | undefined;
  readonly unicode: boolean;
  readonly palette: Palette;
}

/** What a type is called that the service does not list. */
export const UNLISTED = '(not listed)';
const LONGEST_BAR = 60;
/** Bars where no terminal gives their room. */
const PLAIN_BAR = 30;
const SHORTEST_NAME = 12;

/** The statistics as text: a headline, the types worst first, and what happened when. Each line is ended. */
export function statsText(stats: Stats, look: StatsLook): string {
  const { after, before } = stats.window;
  const span = `created after ${after.text} and before ${before.text}`;
  if (stats.total === 0) return `no ${statusWord(stats)}events ${span}\n`;
  const headline = look.palette.bold(countsText(stats));
  return [
    headline,
    look.palette.dim(span),
    '',
    ...typeLines(stats, look),
    '',
    ...timelineText(stats, look),
    '',
  ].join('\n');
}

function countsText(stats: Stats): string {
  const { total, failed } = stats;
  const events = `${grouped(total)} ${statusWord(stats)}${total === 1 ? 'event' : 'events'}`;
  const rate = failureRate(stats);
  return rate === null ? events : `${events}, ${grouped(failed as number)} failed (${percent(rate)})`;
}

function statusWord({ success, failed }: Pick<Stats, 'success' | 'failed'>): string {
  if (success === null) return 'failed ';
  return failed === null ? 'successful ' : '';
}

function typeLines(stats: Stats, look: StatsLook): string[] {
  const { palette, room, unicode } = look;
  const forTerminal = room !== undefined;
  const shown = stats.types.filter(({ total }) => total > 0);
  const rates = stats.success !== null && stats.failed !== null;
  const scale = rates
    ? rateScale(Math.max(...shown.map((type) => failureRate(type) ?? 0)))
    : Math.max(...shown.map(({ total }) => total));
  const heads = ['type', ...(rates ? ['failed', 'success', 'rate'] : ['events'])];
  const cells = shown.map((type) => [nameOf(type, forTerminal), ...numbersOf(type, rates)]);
  const numberWidths = heads
    .slice(1)
    .map((head, index) => widest([head, ...cells.map((row) => row[index + 1] ?? '')]));
  const taken = numberWidths.reduce((sum, width) => sum + width + 2, 0);
  const names = widest(['type', ...cells.map(([name = '']) => name)]);
  const nameWidth = room === undefined ? names : Math.min(names, Math.max(SHORTEST_NAME, room - taken - 12));
  const barWidth = room === undefined ? PLAIN_BAR : Math.min(LONGEST_BAR, room - nameWidth - taken - 3);
  const line = (row: readonly string[]) =>
    [
      padTo(cutTo(row[0] ?? '', nameWidth), nameWidth),
      ...numberWidths.map((width, index) => (row[index + 1] ?? '').padStart(width)),
    ].join('  ');

  const scaleText = `0 to ${percent(scale)}`;
  const legend = rates && barWidth >= scaleText.length ? `  ${scaleText}` : '';
  const lines = [palette.bold(line(heads)) + palette.dim(legend)];
  for (const [index, type] of shown.entries()) {
    const value = rates ? (failureRate(type) ?? 0) : type.total;
    const drawn = barWidth >= 4 ? bar(value, scale, barWidth, unicode) : '';
    const paint = stats.failed === null ? palette.good : palette.bad;
    lines.push(`${line(cells[index] as string[])}${drawn && `  ${paint(drawn)}`}`.trimEnd());
  }
  const silent = stats.types.length - shown.length;
  if (silent > 0)
    lines.push(palette.dim(`${grouped(silent)} ${silent === 1 ? 'type has' : 'types have'} no events`));
  return lines;
}

function nameOf({ eventType }: TypeTally, forTerminal: boolean): string {
  return eventType === null ? UNLISTED : oneLine(eventType, forTerminal);
}

function numbersOf(type: TypeTally, rates: boolean): string[] {
  if (!rates) return [grouped(type.total)];
  return [grouped(type.failed as number), grouped(type.success as number), percent(failureRate(type) ?? 0)];
}
