import path from 'node:path';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Call } from '../command.ts';
import type { Clock } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { escapeCommas } from '../filters/event-filters.ts';
import { type FilterKey, filterKeys } from '../items/filter-keys.ts';
import { refuseFileOfValues } from '../items/item-conditions.ts';
import { createdOnReader } from '../items/item-times.ts';
import { isObject } from '../items/items.ts';
import { knownValues } from '../items/known-fields.ts';
import { shownAddress } from '../names/callback-address.ts';
import { flagWords } from '../shell-words.ts';
import {
  compareInstants,
  type Instant,
  milliseconds,
  nextFullSecond,
  parseInstant,
} from '../time/instant.ts';
import {
  answerShape,
  elementsOf,
  errorAnswer,
  exactJson,
  type List,
  listAnswer,
  toolResult,
  valueAnswer,
} from './mcp-answers.ts';
import { type CommandResult, runLine } from './mcp-lines.ts';

export interface McpFlags {
  readonly allowFile?: readonly string[];
}

const DEFAULT_EVENTS = 20;
const MAX_EVENTS = 200;
/** Seconds for a call by default. */
const CALL_SECONDS = 60;
const MAX_CALL_SECONDS = 3600;
/** Characters of the longest text: more than any person's filter. */
const MAX_TEXT_CHARACTERS = 10_000;
const MAX_TEXTS = 500;
const MAX_IDS = 10_000;

const text = () => z.string().max(MAX_TEXT_CHARACTERS);
const optionalText = (description: string) => text().optional().describe(description);
const optionalTexts = (description: string) =>
  z.array(text()).max(MAX_TEXTS).optional().describe(description);
const upTo = (most: number) => z.number().int().min(1).max(most);
const TIME = 'a date, a date-time (UTC without a zone), a time of day, or a span ago such as 15m, 2h, 7d';

function parameterOf({ parameter, parameterDescription = '', words }: FilterKey) {
  if (parameter === undefined) return undefined;
  return [[parameter, (words ? optionalText : optionalTexts)(parameterDescription)]] as const;
}

const filters = {
  since: optionalText(`created later than this: ${TIME}`),
  until: optionalText(`created earlier than this: ${TIME}`),
  ...Object.fromEntries(filterKeys.flatMap((key) => parameterOf(key) ?? [])),
  where: optionalTexts(
    'conditions on fields, all of which must hold, such as: eventData.body.pages > 20, or: eventType in (a, b), or of any element of a list: lines[].sku = A-7',
  ),
  grep: optionalText('a text that occurs in any value or name, ignoring case'),
};
const page = {
  limit: upTo(MAX_EVENTS).default(DEFAULT_EVENTS),
  cursor: optionalText('the cursor of the answer before; the other arguments stay the same'),
};
/** For lists that are usually short. */
const longPage = { ...page, limit: upTo(MAX_EVENTS).default(MAX_EVENTS) };
const received = {
  ids: z.array(z.string().max(100)).max(MAX_IDS).optional().describe('the event ids that were received'),
  file: optionalText('instead: a file with them, one that the server was started with (--allow-file)'),
};

const counted = z.number().describe('elements in this answer');
const list = (name: string, facts: z.ZodRawShape = {}) =>
  z.looseObject({ ...facts, returned: counted, ...answerShape, [name]: z.array(z.unknown()) });
const events = list('items', {
  matching: z.number().nullable().describe('how many events match in all; null if that is not known'),
});
const value = (facts: z.ZodRawShape) => z.looseObject({ ...facts, ...answerShape });
const time = z.string().nullable();
const window = { after: time, before: time };

type Arguments = Readonly<Record<string, unknown>>;
interface LineInput {
  readonly operands?: readonly string[];
  readonly input?: string;
}
type RunWords = (words: string, flags: Arguments, given?: LineInput) => Promise<CommandResult>;
type ReceivedIds = (args: Arguments) => { readonly flags: Arguments; readonly input: string };

interface Tool {
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodRawShape;
  readonly output: z.ZodObject;
  readonly call: (args: Arguments, run: RunWords, receivedIds: ReceivedIds) => Promise<CallToolResult>;
}

/** The tools by their names. The filters promise UTC, regardless of the user's zone. */
const tools: Readonly<Record<string, Tool>> = {
  search_events: {
    title: 'Search events',
    description: 'Events that match the filters, newest first.',
    input: {
      ...filters,
      ...page,
      fields: optionalTexts('only these members, as dotted paths: an answer holds more events then'),
    },
    output: events,
    call: searchEvents,
  },
  get_events: {
    title: 'Get events by id',
    description: 'Whole events by their ids.',
    input: {
      // The command line reads `-` as standard input.
      ids: z
        .array(z.string().refine((id) => id !== '-', 'is not a GUID'))
        .min(1)
        .max(MAX_EVENTS)
        .describe('event ids (GUIDs)'),
      ...longPage,
    },
    output: list('items'),
    call: async ({ ids, ...asked }, run) =>
      linesAnswer(
        await run('events get --ndjson', {}, { operands: ids as string[] }),
        asked,
        'ask for fewer ids',
      ),
  },
  count_events: {
    title: 'Count events',
    description: 'How many events match. No event is downloaded.',
    input: filters,
    output: value({ count: z.number() }),
    call: (args, run) => printedValue(run('events count --json --timezone=UTC', args)),
  },
  event_statistics: {
    title: 'Event statistics',
    description: `Counts by type, status and time (last 24 h by default), or by any field with by.`,
    input: {
      ...filters,
      buckets: upTo(200).optional().describe('the number of buckets from since to until'),
      by: optionalTexts('group by these fields instead, as dotted paths, largest first'),
      ...longPage,
    },
    output: z.looseObject({
      ...{ total: z.number(), returned: counted, ...answerShape },
      types: z.array(z.unknown()).optional(),
      groups: z.array(z.unknown()).optional(),
    }),
    call: async ({ limit, cursor, ...args }, run) =>
      summaryAnswer(
        await run(`events stats --json --timezone=UTC${args['by'] ? ` --limit=${LISTED_GROUPS}` : ''}`, args),
        args['by'] ? 'groups' : 'types',
        { limit, cursor },
      ),
  },
  explain_failures: {
    title: 'Explain failures',
    description: `What failed events have that delivered ones have not: values, fields, spans of time (last 24 h by default).`,
    input: {
      ...filters,
      baseline: z
        .enum(['previous', '1d', '7d'])
        .optional()
        .describe('compare with the window before, or with the same one a day or a week ago'),
      ...longPage,
    },
    output: list('causes', { ...window, events: z.number(), failed: z.number() }),
    call: async ({ limit, cursor, ...args }, run) =>
      summaryAnswer(await run('events explain --json --timezone=UTC', args), 'causes', { limit, cursor }),
  },
  subscription_health: {
    title: 'Health of subscriptions',
    description: `A row for each subscription, failing first: since when, last success, the last ten, newest first.`,
    input: {
      ...filters,
      by: optionalText('a field, as a dotted path, instead of subscriptionId'),
      ...longPage,
    },
    output: list('rows'),
    call: async ({ limit, cursor, ...args }, run) => {
      const { stdout, warnings } = await run('events health --json --timezone=UTC', args);
      return summaryAnswer({ stdout: `{"rows":${stdout}}`, warnings }, 'rows', { limit, cursor });
    },
  },
  subscription_page: {
    title: 'One subscription',
    description:
      'One subscription: what failed, since when and why, its outage, its endpoint, who shares it.',
    input: {
      subscription: text().describe('its id, a part of its callback address, or words of its name'),
      ...filters,
    },
    output: value({
      word: z.string(),
      foundBy: z.string(),
      ...window,
      events: z.number(),
      failed: z.number(),
    }),
    call: ({ subscription, ...args }, run) =>
      printedValue(run('events about --json --timezone=UTC', args, { operands: [String(subscription)] })),
  },
  find_text: {
    title: 'Find a text',
    description:
      'Events with a text as a whole word in any value, and in which field (last 7 days by default).',
    input: { text: text().describe('an order number, a name, an id'), ...filters, ...page },
    output: list('items'),
    call: async ({ text: word, limit, cursor, ...args }, run) => {
      const most = offsetOf(cursor) + Number(limit) + 1;
      const words = `events find --ndjson --timezone=UTC --limit=${most}`;
      const found = await run(words, args, { operands: [String(word)] });
      return linesAnswer(found, { limit, cursor }, 'narrow the filters');
    },
  },
  reconcile: {
    title: 'Reconcile received ids',
    description: `Compares received event ids with the service's records: what is missing, by subscription, hour and status.`,
    input: {
      ...filters,
      since: text().describe(`created later than this: ${TIME}`),
      ...received,
      ...longPage,
    },
    output: list('groups', {
      ...window,
      received: z.number(),
      records: z.number(),
      both: z.number(),
      missing: z.looseObject({ records: z.number(), failed: z.number(), succeeded: z.number() }),
    }),
    call: async ({ ids, file, limit, cursor, ...args }, run, receivedIds) => {
      const { flags, input } = receivedIds({ ids, file });
      if (flags['received'] === undefined) throw noIds();
      const words = 'webhooks reconcile --json --timezone=UTC';
      const { stdout, warnings } = await run(words, { ...args, ...flags }, { input });
      const { missing, ...facts } = exactJson(stdout) as { missing: { groups: unknown[] } };
      const { groups, ...counts } = missing;
      const json = JSON.stringify({ ...facts, missing: counts, groups });
      return summaryAnswer({ stdout: json, warnings }, 'groups', { limit, cursor });
    },
  },
  preview_recovery: {
    title: 'Preview a recovery',
    description: `The events that webhooks recover would hand over (a dry run): those that neither the ids nor, without ids, the journal has.`,
    input: { ...filters, since: text().describe(`created later than this: ${TIME}`), ...received, ...page },
    output: list('items'),
    call: async ({ ids, file, limit, cursor, ...args }, run, receivedIds) => {
      const { flags, input } = receivedIds({ ids, file });
      const words = 'webhooks recover --dry-run --ndjson --timezone=UTC';
      const found = await run(words, { ...args, ...flags }, { input });
      const matching = linesIn(found.stdout).length;
      return linesAnswer(found, { limit, cursor }, 'narrow the filters', matching);
    },
  },
  list_event_types: {
    title: 'List event types',
    description: 'The event types that the service offers.',
    input: { match: optionalText('only those with this text in a value'), ...longPage },
    output: list('items'),
    call: async ({ match, ...asked }, run) =>
      linesAnswer(await run('event-types --ndjson', { match }), asked, 'give a text to match'),
  },
  list_subscriptions: {
    title: 'List subscriptions',
    description: 'The subscriptions that are switched on, their addresses without what may be secret.',
    input: longPage,
    output: list('items'),
    call: async (asked, run) => {
      const { stdout, warnings } = await run('subscriptions list --ndjson', {});
      return linesAnswer({ stdout: maskedLines(stdout), warnings }, asked, 'a person can list them');
    },
  },
  sign_in_status: {
    title: 'Sign-in status',
    description: 'Who is signed in, where and until when.',
    input: {},
    output: z.looseObject({ signedIn: z.boolean() }),
    call: async (_, run) => {
      const { stdout } = await run('status --json', {});
      const state = exactJson(stdout) as { signedIn: boolean };
      return toolResult(state.signedIn ? state : { ...state, next: 'a person has to run `hooktrail login`' });
    },
  },
};

/** Groups listed in statistics; the rest are summed up. */
const LISTED_GROUPS = 20;

/** A cursor into the newest events: the time of the last one shown, and how many of that time were shown. */
interface SearchPlace {
  readonly createdOn: string;
  readonly shown: number;
}

async function searchEvents(
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

interface ListPlace {
  readonly at: number;
}

function offsetOf(cursor: unknown): number {
  return cursor === undefined ? 0 : readCursor<ListPlace>(cursor, isListPlace).at;
}

function cursorOf(place: SearchPlace | ListPlace): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function isListPlace(place: unknown): place is ListPlace {
  return isObject(place) && isCount(place['at']);
}

function isSearchPlace(place: unknown): place is SearchPlace {
  return isObject(place) && isTime(place['createdOn']) && isCount(place['shown']);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Throws `UsageError` for any other text. */
function readCursor<Place>(cursor: unknown, isPlace: (place: unknown) => place is Place): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString());
    if (isPlace(place)) return place;
  } catch {}
  throw new UsageError('cursor: this is not a cursor of this tool', {
    next: 'give the cursor of the answer before, or leave it out to begin',
  });
}

interface Page {
  readonly limit?: unknown;
  readonly cursor?: unknown;
}

function linesAnswer(
  { stdout, warnings }: CommandResult,
  { limit, cursor }: Page,
  advice: string,
  matching?: number,
): CallToolResult {
  const at = offsetOf(cursor);
  const lines = linesIn(stdout).slice(at);
  const facts = matching === undefined ? {} : { matching };
  const part = partOf(lines, at, Number(limit));
  return listAnswer(facts, { ...part, name: 'items', total: matching ?? null, advice }, warnings);
}

function summaryAnswer(
  { stdout, warnings }: CommandResult,
  name: string,
  { limit, cursor }: Page,
): CallToolResult {
  const { [name]: all, ...facts } = exactJson(stdout) as Record<string, unknown>;
  const elements = (all ?? []) as unknown[];
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

function linesIn(ndjson: string): string[] {
  return ndjson.split('\n').filter((line) => line !== '');
}

async function printedValue(running: Promise<CommandResult>): Promise<CallToolResult> {
  const { stdout, warnings } = await running;
  return valueAnswer(exactJson(stdout) as object, warnings);
}

/** Masks possible secrets in the addresses of subscriptions, one per line. */
function maskedLines(ndjson: string): string {
  return linesIn(ndjson)
    .map((line) => {
      const item = exactJson(line);
      if (!isObject(item) || typeof item['callbackUrl'] !== 'string') return line;
      return JSON.stringify({ ...item, callbackUrl: shownAddress(item['callbackUrl']) ?? null });
    })
    .join('\n');
}

function receivedIdsFrom(allowed: readonly string[]): ReceivedIds {
  const files = new Set(allowed.map((file) => path.resolve(file)));
  return ({ ids, file }) => {
    if (ids !== undefined && file !== undefined)
      throw new UsageError('ids and file contradict each other: give one');
    if (ids !== undefined) return { flags: { received: '-' }, input: `${(ids as string[]).join('\n')}\n` };
    if (file === undefined) return { flags: {}, input: '' };
    if (files.has(path.resolve(String(file))))
      return { flags: { received: path.resolve(String(file)) }, input: '' };
    throw new UsageError(`file: this server does not read ${file}`, {
      details: allowed.length > 0 ? [`it reads ${allowed.join(', ')}`] : [],
      next: 'a person starts the server with `hooktrail mcp --allow-file PATH`; or give ids',
    });
  };
}

function noIds(): UsageError {
  return new UsageError('ids is missing: the event ids that were received', {
    next: 'give ids, or a file that the server was started with (hooktrail mcp --allow-file PATH)',
  });
}

/** Makes commands write errors and warnings as lines of JSON, regardless of the environment. */
const MESSAGES = ['--quiet', '--error-format=json'];

/** Registers the read-only commands as tools. Each call runs a command line of this program. */
export function registerTools(server: McpServer, { flags, context, invoke }: Call<McpFlags>): void {
  const connection = flagWords(flags, ['profile', 'authUrl', 'baseUrl', 'clientId', 'vendor']);
  const receivedIds = receivedIdsFrom(flags.allowFile ?? []);
  const runner =
    (signal: AbortSignal): RunWords =>
    async (words, given, { operands = [], input = '' } = {}) => {
      for (const condition of (given['where'] ?? []) as string[]) refuseFileOfValues(condition, 'where');
      const behind = operands.length > 0 ? ['--', ...operands] : [];
      const argv = [...words.split(' '), ...flagsOf(given), ...connection, ...MESSAGES, ...behind];
      return await runLine(argv, input, invoke, { ...context, signal });
    };
  const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: true };
  const timeoutSeconds = upTo(MAX_CALL_SECONDS).default(CALL_SECONDS);
  for (const [name, { title, description, input, output, call }] of Object.entries(tools)) {
    // Reject unknown arguments, like the command line: ignoring a filter would give a wrong result.
    const inputSchema = z.strictObject({ ...input, timeoutSeconds });
    const config = { title, description, inputSchema, outputSchema: output, annotations };
    server.registerTool(name, config, async ({ timeoutSeconds: seconds, ...args }, { mcpReq }) => {
      const over = new AbortController();
      const limit = limitTime(Number(seconds), context.clock, over);
      try {
        const signal = AbortSignal.any([context.signal, mcpReq.signal, limit]);
        return await call(args, runner(signal), receivedIds);
      } catch (error) {
        return errorAnswer(error);
      } finally {
        over.abort();
      }
    });
  }
}

function limitTime(seconds: number, clock: Clock, over: AbortController): AbortSignal {
  const late = new AbortController();
  const failure = new ServiceError(`the call took longer than ${seconds} s`, {
    next: `narrow the filters, or give a timeoutSeconds of up to ${MAX_CALL_SECONDS}`,
    retryable: true,
  });
  clock.sleep(seconds * 1000, over.signal).then(
    () => late.abort(failure),
    () => undefined,
  );
  return late.signal;
}

function valueWord(value: unknown, kind: FilterKey['kind'] | undefined): string {
  const values = [value].flat().map(String);
  return (kind === 'text' ? values.map(escapeCommas) : values).join(',');
}

/** Formats each flag and its value as one word, so that no value can look like a flag. */
function flagsOf({ where, ...others }: Arguments): string[] {
  const words = Object.entries(others).flatMap(([name, value]) => {
    const key = filterKeys.find(({ parameter }) => parameter === name);
    return value === undefined ? [] : [`--${key?.flag ?? name}=${valueWord(value, key?.kind)}`];
  });
  return [...words, ...((where ?? []) as string[]).map((condition) => `--where=${condition}`)];
}
