import type { CallToolResult } from '@modelcontextprotocol/server';
import { UsageError } from '../errors.ts';
import { isObject } from '../items/items.ts';
import { elementsOf, exactJson, type List, listAnswer } from './mcp-answers.ts';
import type { CommandResult } from './mcp-lines.ts';

/** The arguments that choose a part of a list. */
export interface ListRange {
  readonly limit?: unknown;
  readonly cursor?: unknown;
}

export function linesAnswer(
  { stdout, warnings }: CommandResult,
  { limit, cursor }: ListRange,
  advice: string,
  matching?: number,
): CallToolResult {
  const at = offsetOf(cursor);
  const lines = linesIn(stdout).slice(at);
  const facts = matching === undefined ? {} : { matching };
  const part = partOf(lines, at, Number(limit));
  return listAnswer(facts, { ...part, name: 'items', total: matching ?? null, advice }, warnings);
}

/** Answers with a summary of which one member is a list. */
export function summaryAnswer(
  { stdout, warnings }: CommandResult,
  name: string,
  asked: ListRange,
): CallToolResult {
  const { [name]: elements, ...facts } = exactJson(stdout) as Record<string, unknown>;
  return elementsAnswer(facts, { name, elements: (elements ?? []) as unknown[] }, warnings, asked);
}

export function elementsAnswer(
  facts: object,
  { name, elements }: Pick<List, 'name' | 'elements'>,
  warnings: readonly string[],
  { limit, cursor }: ListRange,
): CallToolResult {
  const at = offsetOf(cursor);
  const lines = elements.slice(at).map((element) => JSON.stringify(element));
  const part = partOf(lines, at, Number(limit));
  const advice = 'narrow the filters';
  return listAnswer(facts, { ...part, name, total: elements.length, advice }, warnings);
}

function partOf(
  lines: readonly string[],
  at: number,
  limit: number,
): Pick<List, 'elements' | 'unfit' | 'isPart' | 'cursorAfter'> {
  const { elements, unfit } = elementsOf(lines.slice(0, limit));
  return {
    ...{ elements, unfit, isPart: lines.length > limit },
    // Also skip the elements that did not fit.
    cursorAfter: (count) => {
      const next = count === elements.length ? Math.min(limit, lines.length) : count;
      return next === 0 ? undefined : cursorOf({ at: at + next });
    },
  };
}

export function linesIn(ndjson: string): string[] {
  return ndjson.split('\n').filter((line) => line !== '');
}

interface ListPlace {
  readonly at: number;
}

/** Throws `UsageError` for a text that is not a cursor of a list. */
export function offsetOf(cursor: unknown): number {
  return cursor === undefined ? 0 : readCursor<ListPlace>(cursor, isListPlace).at;
}

export function cursorOf(place: object): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function isListPlace(place: unknown): place is ListPlace {
  return isObject(place) && isCount(place['at']);
}

export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Throws `UsageError` for any other text. */
export function readCursor<Place>(cursor: unknown, isPlace: (place: unknown) => place is Place): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString());
    if (isPlace(place)) return place;
  } catch {}
  throw new UsageError('cursor: this is not a cursor of this tool', {
    next: 'give the cursor of the answer before, or leave it out to begin',
  });
}
