import path from 'node:path';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Call } from '../command.ts';
import type { Clock } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { type FilterKey, filterKeys } from '../items/filter-keys.ts';
import { withShownAddress } from '../names/callback-address.ts';
import { answerShape, errorAnswer, exactJson, toolResult, valueAnswer } from './mcp-answers.ts';
import { type Arguments, type CommandResult, createRunner, type RunWords } from './mcp-lines.ts';
import { elementsAnswer, linesAnswer, linesIn, offsetOf, summaryAnswer } from './mcp-lists.ts';
import { searchNewest } from './mcp-search.ts';

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
/** Groups listed in statistics; the rest are summed up. */
const LISTED_GROUPS = 20;

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
    call: searchNewest,
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
      const elements = exactJson(stdout) as unknown[];
      return elementsAnswer({}, { name: 'rows', elements }, warnings, { limit, cursor });
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
      const found = { ...facts, missing: counts };
      return elementsAnswer(found, { name: 'groups', elements: groups }, warnings, { limit, cursor });
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

async function printedValue(running: Promise<CommandResult>): Promise<CallToolResult> {
  const { stdout, warnings } = await running;
  return valueAnswer(exactJson(stdout) as object, warnings);
}

/** Masks possible secrets in the addresses of subscriptions, one per line. */
function maskedLines(ndjson: string): string {
  return linesIn(ndjson)
    .map((line) => JSON.stringify(withShownAddress(exactJson(line))))
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

/** Registers the read-only commands as tools. Each call runs a command line of this program. */
export function registerTools(server: McpServer, call: Call<McpFlags>): void {
  const { flags, context } = call;
  const receivedIds = receivedIdsFrom(flags.allowFile ?? []);
  const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: true };
  const timeoutSeconds = upTo(MAX_CALL_SECONDS).default(CALL_SECONDS);
  for (const [name, { title, description, input, output, call: answer }] of Object.entries(tools)) {
    // Reject unknown arguments, like the command line: ignoring a filter would give a wrong result.
    const inputSchema = z.strictObject({ ...input, timeoutSeconds });
    const config = { title, description, inputSchema, outputSchema: output, annotations };
    server.registerTool(name, config, async ({ timeoutSeconds: seconds, ...args }, { mcpReq }) => {
      const over = new AbortController();
      const limit = limitTime(Number(seconds), context.clock, over);
      try {
        const signal = AbortSignal.any([context.signal, mcpReq.signal, limit]);
        return await answer(args, createRunner(call, signal), receivedIds);
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
