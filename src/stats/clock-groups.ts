import { WEEKDAYS } from '../items/derived-values.ts';
import { type EventGroup, type EventGroups, groupWithoutEvents } from '../questions/event-groups.ts';
import { compareInstants, type Instant, milliseconds } from '../time/instant.ts';
import { DAY_MS, HOUR_MS } from '../time/lengths.ts';

interface Span {
  readonly after: Instant;
  readonly before: Instant;
}

const [SUNDAY, ...OTHER_WEEKDAYS] = WEEKDAYS;

const CLOCKS = {
  hour: {
    values: Array.from({ length: DAY_MS / HOUR_MS }, (_, hour) => String(hour)),
    roundMs: DAY_MS,
  },
  weekday: {
    values: [...OTHER_WEEKDAYS, SUNDAY].map((name) => JSON.stringify(name)),
    roundMs: 7 * DAY_MS,
  },
} as const;

/**
 * Sorts groups by hour or weekday, events without a time last. Adds empty groups if the window, or else the
 * span of the events, covers a full cycle. Undefined for other groups.
 */
export function inOrderOfClock(
  { fields }: EventGroups,
  groups: readonly EventGroup[],
  window: Span | undefined,
): readonly EventGroup[] | undefined {
  const [field, another] = fields;
  const derivation = field?.walk?.derivation;
  if (another || (derivation !== 'hour' && derivation !== 'weekday')) return undefined;
  const { values, roundMs } = CLOCKS[derivation];
  const untimed = groups.filter((group) => group.values[0] === null);
  const timed = new Map(groups.flatMap((group) => (group.values[0] ? [[group.values[0], group]] : [])));
  if (![...timed.keys()].every((value) => values.includes(value))) return undefined;
  const hasAll = lengthOf(window ?? spanOf(groups)) >= roundMs;
  const shown = hasAll ? values : values.filter((value) => timed.has(value));
  return [...shown.map((value) => timed.get(value) ?? groupWithoutEvents(value)), ...untimed];
}

function spanOf(groups: readonly EventGroup[]): Span | undefined {
  const firsts = groups.flatMap(({ first }) => first ?? []).sort(compareInstants);
  const lasts = groups.flatMap(({ last }) => last ?? []).sort(compareInstants);
  const [after, before] = [firsts[0], lasts.at(-1)];
  return after && before && { after, before };
}

function lengthOf(span: Span | undefined): number {
  return span ? milliseconds(span.before) - milliseconds(span.after) : 0;
}
