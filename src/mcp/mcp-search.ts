import type { CallToolResult } from '@modelcontextprotocol/server';
import { createdOnReader } from '../items/item-times.ts';
import { isObject } from '../items/items.ts';
import { knownValues } from '../items/known-fields.ts';
import {
  compareInstants,
  type Instant,
  milliseconds,
  nextFullSecond,
  parseInstant,
} from '../time/instant.ts';
import { elementsOf, exactJson, listAnswer } from './mcp-answers.ts';
import type { Arguments, CommandResult, RunWords } from './mcp-lines.ts';
import { cursorOf, isCount, linesIn, readCursor } from './mcp-lists.ts';

/** A cursor into the newest events: the time of the last one shown, and how many of that time were shown. */
interface SearchPlace {
  readonly createdOn: string;
  readonly shown: number;
}

export async function searchNewest(
  { limit, fields, cursor, ...asked }: Arguments,
  run: RunWords,
): Promise<CallToolResult> {
  const place = cursor === undefined ? undefined : readCursor<SearchPlace>(cursor, isSearchPlace);
  const wanted = fields as readonly string[] | undefined;
  // The cursor needs the last event's time.
  const addsTime = wanted !== undefined && !wanted.includes('createdOn');
  const asRead = { ...asked, fields: addsTime ? [...wanted, 'createdOn'] : fields };
  const [{ lines, warnings }, count] = await Promise.all([
    readAfter(place, Number(limit), asRead, run),
    run('events count --json --timezone=UTC', asked).catch(() => undefined),
  ]);
  const { elements, unfit } = elementsOf(lines.slice(0, Number(limit)));
  const times = elements.map((item) => timeOf(item, fields !== undefined));
  const matching = count ? (exactJson(count.stdout) as { count: number }).count : null;
  return listAnswer(
    { matching },
    {
      ...{ name: 'items', unfit, total: matching, isPart: lines.length > Number(limit) },
      elements: addsTime ? elements.map(withoutTime) : elements,
      cursorAfter: (shown) => {
        const last = times[shown - 1];
        if (last === undefined) return undefined;
        const same = times.slice(0, shown).filter((one) => one === last).length;
        return cursorOf({ createdOn: last, shown: same + (last === place?.createdOn ? place.shown : 0) });
      },
      advice: 'narrow the filters, or give fewer fields',
    },
    warnings,
  );
}

/**
 * Reads more than `limit` events after a place, if there are as many. How finely the service compares times
 * is unknown, so it is asked up to a full second, and the events before the place are left out here.
 */
async function readAfter(
  place: SearchPlace | undefined,
  limit: number,
  asked: Arguments,
  run: RunWords,
): Promise<{ readonly lines: readonly string[]; readonly warnings: CommandResult['warnings'] }> {
  const at = place && parseInstant(place.createdOn);
  const within = at ? { ...asked, until: nextFullSecond(milliseconds(at)).text } : asked;
  for (let most = limit + (place?.shown ?? 0) + 1; ; most *= 2) {
    const found = await run(`events search --no-reverse --ndjson --timezone=UTC --limit=${most}`, within);
    const read = linesIn(found.stdout);
    const lines = at ? read.filter(isAfterPlace(at, place.shown)) : read;
    if (lines.length > limit || read.length < most) return { lines, warnings: found.warnings };
  }
}

/** Skips the events that are newer, and as many of the same time as were shown. */
function isAfterPlace(at: Instant, shown: number): (line: string) => boolean {
  const createdOn = createdOnReader();
  let toSkip = shown;
  return (line) => {
    const time = createdOn(Buffer.from(line), 0);
    const order = time ? compareInstants(time, at) : -1;
    if (order !== 0) return order < 0;
    return toSkip-- <= 0;
  };
}

/** Undefined if it is not a time. */
function timeOf(item: unknown, isPicked: boolean): string | undefined {
  if (!isObject(item)) return undefined;
  const createdOn = isPicked ? item['createdOn'] : knownValues(item).createdOn;
  return isTime(createdOn) ? createdOn : undefined;
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && parseInstant(value) !== undefined;
}

function withoutTime(item: unknown): unknown {
  const { createdOn: _, ...others } = item as { createdOn: unknown };
  return others;
}

function isSearchPlace(place: unknown): place is SearchPlace {
  return isObject(place) && isTime(place['createdOn']) && isCount(place['shown']);
}
