import type { Output } from '../context.ts';
import type { EventGroup, EventGroups } from '../events/group-events.ts';
import { exactValue } from '../json/item-conditions.ts';
import { grouped, percent } from '../terminal/numbers-text.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';
import type { Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { csvLines, csvText } from './csv.ts';
import { tableText } from './table.ts';

/** The value of a group's field for people: a string's characters, other values as JSON, nothing if it is missing. */
export function groupValue(value: string | null): string {
  if (value === null) return '-';
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}

/** Fractions of seconds stay out of the table: JSON and CSV have them. */
export function toSeconds(instant: Instant | undefined): string {
  return instant?.text.replace(/\.\d+/, '') ?? '-';
}

/** The largest groups as a table, with a last line for the total of the others. */
export async function groupsTable(
  groups: EventGroups,
  limit: number,
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
  zone: TimeZone,
): Promise<string> {
  if (groups.total === 0) return 'no events match\n';
  const { kept } = split(groups, limit);
  const header = [...groups.fields.map(({ text }) => text), 'events', 'share', 'first', 'last', 'example'];
  const rows = kept.map((group) => [
    ...group.values.map((value) => zone.shown(groupValue(value))),
    grouped(group.count),
    percent(group.count / groups.total),
    zone.shown(toSeconds(group.first)),
    zone.shown(toSeconds(group.last)),
    group.example ?? '-',
  ]);
  const spares: Readonly<Record<string, number>> = { first: 3, last: 2, share: 1 };
  const heads = header.map((title, index) => ({
    title,
    isWhole: title === 'example',
    spare: index < groups.fields.length ? 0 : (spares[title] ?? 0),
  }));
  const table = await tableText({ heads, rows }, output, reporter);
  const others = otherGroups(groups, limit);
  return others === undefined ? table : `${table}${others}\n`;
}

/** The number of groups and events that `limit` leaves out, in one line; undefined if it leaves out none. */
export function otherGroups(groups: EventGroups, limit: number): string | undefined {
  const { others, otherEvents } = split(groups, limit);
  if (others === 0) return undefined;
  const share = percent(otherEvents / groups.total);
  const what = others === 1 ? '1 other group' : `${grouped(others)} other groups`;
  return `${what}: ${grouped(otherEvents)} ${otherEvents === 1 ? 'event' : 'events'} (${share})`;
}

/** The same as a value for JSON; the fields' values are those of the events. */
export function groupsJson(groups: EventGroups, limit: number) {
  const { kept, others, otherEvents } = split(groups, limit);
  return {
    total: groups.total,
    groups: kept.map((group) => ({
      by: Object.fromEntries(
        groups.fields.map(({ text }, field) => [text, exactValue(group.values[field] ?? 'null')]),
      ),
      count: group.count,
      share: group.count / groups.total,
      first: group.first?.text ?? null,
      last: group.last?.text ?? null,
      example: group.example ?? null,
    })),
    others: { groups: others, count: otherEvents },
  };
}

/** The largest groups as CSV. */
export function groupsCsv(groups: EventGroups, limit: number, output: Pick<Output, 'isTerminal'>): string {
  const safe = (text: string) => {
    const cell = csvText(text, false);
    return output.isTerminal ? terminalSafe(cell) : cell;
  };
  const header = [
    ...groups.fields.map(({ text }) => safe(text)),
    'count',
    'share',
    'first',
    'last',
    'example',
  ];
  const rows = split(groups, limit).kept.map((group) => [
    ...group.values.map((value) => (value === null ? '' : safe(groupValue(value)))),
    group.count,
    group.count / groups.total,
    group.first?.text ?? '',
    group.last?.text ?? '',
    safe(group.example ?? ''),
  ]);
  return csvLines([header, ...rows]);
}

function split(groups: EventGroups, limit: number) {
  const largest: readonly EventGroup[] = groups.largest();
  const kept = largest.slice(0, limit);
  const rest = largest.slice(limit);
  return { kept, others: rest.length, otherEvents: rest.reduce((sum, { count }) => sum + count, 0) };
}
