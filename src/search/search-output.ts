import type { Call } from '../command.ts';
import { isReadOnce } from '../files/whole-files.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { furtherBack, warnOfNoMatch } from '../filters/no-match.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import { CsvColumns } from '../formats/csv-columns.ts';
import type { FormatOptions } from '../formats/format-options.ts';
import { createItemWriter, takesNames } from '../formats/item-writer.ts';
import type { NoteParts, NoteWindow, TableNote } from '../formats/table-note.ts';
import { type Service, waitText } from '../http/service.ts';
import { memberPath } from '../items/field-path.ts';
import { isGuid } from '../items/guids.ts';
import type { Direction } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import { createCursor } from '../items/known-fields.ts';
import { withNames } from '../names/subscription-names.ts';
import type { Query } from '../paging/event-query.ts';
import type { FoundPage } from '../paging/page.ts';
import { flagWords, shellText } from '../shell-words.ts';
import { withService } from '../sign-in/session.ts';
import { inDirection } from '../sources/creation-order.ts';
import type { SourceOptions } from '../sources/event-source.ts';
import { type FindOptions, openSearch, readNotice } from '../sources/find-events.ts';
import { previewRequests } from '../sources/request-preview.ts';
import type { StoredOptions } from '../sources/stored-events.ts';
import { startProgress } from '../terminal/progress.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { type Instant, nextFullSecond } from '../time/instant.ts';
import { createdText } from '../time/period.ts';
import { MatchedFields } from './matched-fields.ts';

export interface SearchOptions extends SourceOptions, Pick<StoredOptions, 'mustTell'> {
  readonly format: FormatOptions;
  readonly pageSize: number;
  readonly limit: number | undefined;
  readonly direction: Direction | undefined;
  /** True if the limit is the default for a terminal, and nobody asked for it. */
  readonly isGlance: boolean;
  readonly noteOf: (parts: NoteParts) => TableNote;
  /** Prints the first requests in this form and sends nothing. */
  readonly preview: 'urls' | 'curl' | undefined;
}

/** Prints the matching events, and on a terminal what to do next. Returns how many it printed. */
export async function searchEvents(options: SearchOptions, call: Call): Promise<number> {
  const { context, reporter } = call;
  const { preview, from, filters, pageSize, concurrency, direction, isGlance } = options;
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  if (preview) {
    const size = isGlance || filters.runHere ? pageSize : Math.min(pageSize, limit);
    await previewRequests(call, filters, size, preview);
    return 0;
  }
  if (from !== undefined) {
    // It reads files and decompresses, and takes as long to load as a tenth of a search.
    const { storedEvents } = await import('../sources/stored-events.ts');
    let lookedAt = 0;
    const onRead = (events: number) => {
      lookedAt += events;
    };
    const open = (watching: Pick<StoredOptions, 'onDoubt' | 'onRead'>) => {
      const read = (limit?: number) =>
        storedEvents(from, filters, { mustTell: options.mustTell, context, ...watching, limit });
      return direction ? inDirection(read(), direction, limit) : read(limit);
    };
    const csvColumns = isReadOnce(from) ? undefined : await CsvColumns.ofAll(options.format, open({}));
    const format = { ...options.format, csvColumns };
    const printed = await printFound({ ...options, format }, call, async ({ onDoubt }) => {
      const pages = open({ onDoubt, onRead });
      const [asked] = filters.queries(context.clock.now());
      return { pages, asked, window: async () => asked, lookedAt: () => lookedAt };
    });
    if (printed.count === 0 && context.stdout.isTerminal)
      reporter.notice(`searched ${eventsText(lookedAt)} of ${from === '-' ? 'standard input' : from}`);
    return printed.count;
  }
  return await withService(call, async (service, settings) => {
    const chosen = await resolveFilters(filters, service, call.reporter);
    const { clock, signal } = context;
    const reading = { direction, limit, pageSize, concurrency, clock, signal };
    const find: Find = async (watching) => {
      const search = await openSearch(service, chosen, { ...reading, ...watching });
      const { queries, askedAt, pages, lookedAt } = search;
      const [asked = {}] = queries;
      const window = async () => ({
        after: asked.after,
        before: asked.before ?? endOfSearch(await askedAt),
      });
      return { pages, asked, window, lookedAt };
    };
    const printed = await withNames(service, takesNames(options.format), (names) =>
      printFound({ ...options, format: { ...options.format, names }, filters: chosen }, call, find),
    );
    const { count, failedId, asked, lookedAt, isDoubted } = printed;
    if (context.stdout.isTerminal)
      reporter.notice(readNotice('searched', asked, lookedAt, filters.zone, settings, context));
    if (failedId !== undefined && context.stderr.isTerminal && options.format.format === 'table')
      for (const line of failureHints(failedId, filters, reporter)) reporter.notice(`next: ${line}`);
    if (count === 0) await explainNoMatch({ asked, isDoubted }, chosen, service, call);
    return count;
  });
}

/**
 * Warns of a type that is not on offer, after a search that found nothing. Where nothing is doubted, says to
 * a person how to look further back.
 */
async function explainNoMatch(
  { asked: { after, before }, isDoubted }: Pick<Printed, 'asked' | 'isDoubted'>,
  filters: EventFilters,
  service: Service,
  { context, reporter }: Call,
): Promise<void> {
  const hasWarned = await warnOfNoMatch(filters, service, reporter);
  if (hasWarned || isDoubted || !after || before || !context.stderr.isTerminal) return;
  const next = furtherBack(after, context.clock.now()) ?? 'without --since all events are searched';
  reporter.notice(`next: ${next}`);
}

/** The events found were created before this. */
function endOfSearch(askedAt: number | undefined): Instant | undefined {
  return askedAt === undefined ? undefined : nextFullSecond(askedAt);
}

/** A search whose events are to be printed. */
interface Finding {
  readonly pages: AsyncIterable<FoundPage>;
  /** The first of its queries, with the times of the filters resolved. */
  readonly asked: Query;
  /** The time that the events are from, once they are read. */
  readonly window: () => Promise<NoteWindow>;
  /** The events that filters which run here looked at so far. */
  readonly lookedAt: () => number | undefined;
}

type Find = (watching: Pick<FindOptions, 'onRetry' | 'onDoubt'>) => Promise<Finding>;

interface Printed {
  readonly count: number;
  /** On a terminal, the id of the first failed event. */
  readonly failedId: string | undefined;
  readonly asked: Query;
  readonly lookedAt: number | undefined;
  /** True if a doubt about the filters or the result was said. */
  readonly isDoubted: boolean;
}

/** Prints the events found. */
async function printFound(options: SearchOptions, call: Call, find: Find): Promise<Printed> {
  const { context, reporter } = call;
  const { filters, format, limit = Number.POSITIVE_INFINITY } = options;
  const { constantFields: constant, zone } = filters;
  const { stdout } = context;
  const progress = startProgress(context, reporter, 'searching');
  let [count, pages] = [0, 0];
  let total: number | undefined;
  let failedId: string | undefined;
  let isDoubted = false;
  const isForPerson = stdout.isTerminal && format.format === 'table';
  const matched =
    isForPerson && filters.grepTexts.length > 0 ? new MatchedFields(filters.grepTexts) : undefined;
  try {
    const found = await find({
      onRetry: (attempt) => progress.update({ note: waitText(attempt) }),
      onDoubt: (doubt, kind = 'incomplete') => {
        isDoubted = true;
        reporter.warning(doubt, { kind });
      },
    });
    const note = async () => options.noteOf(await factsOf(options, found, count, total));
    const writer = await createItemWriter({ ...format, constant, zone, note }, context, reporter);
    try {
      for await (const page of found.pages) {
        count += page.items.count;
        pages++;
        total = page.total;
        progress.update({ pages, events: count, total, note: '' });
        if (stdout.isTerminal) failedId ??= firstFailedId(page.items);
        matched?.add(page.items);
        await writer.write(page.items, count >= Math.min(limit, total ?? limit));
      }
      progress.stop();
      await writer.end?.();
    } catch (error) {
      await writer.abort?.();
      throw error;
    }
    const places = matched?.text();
    if (places !== undefined) reporter.notice(`--grep: ${places}`);
    return { count, failedId, asked: found.asked, lookedAt: found.lookedAt(), isDoubted };
  } finally {
    progress.stop();
  }
}

/** The facts below a table of `count` events, of `total` that match, and the time that they are from. */
async function factsOf(
  { filters, isGlance, limit = Number.POSITIVE_INFINITY }: SearchOptions,
  found: Finding,
  count: number,
  total: number | undefined,
) {
  const { zone } = filters;
  const window = await found.window();
  const events = eventsText(total ?? count);
  const some = total !== undefined && total > count ? `${grouped(count)} of ${events}` : events;
  const isCut = isGlance && count >= limit && (total === undefined || total > count);
  const first = total === undefined ? eventsText(count) : some;
  const facts = [
    isCut ? `the first ${first}; --all prints all of them` : some,
    createdText(window, ({ text }) => zone.shown(text)),
    shellText(filters.words('since', 'until', 'timezone')),
  ];
  return { facts: facts.filter((fact) => fact !== ''), window };
}

/** The id of the first failed event of a page, if its items have the fields that searches filter by. */
function firstFailedId(items: Items): string | undefined {
  const cursor = createCursor(['publishStatus', 'eventId'].map(memberPath));
  for (let item = 0; item < items.count; item++) {
    cursor.read(items.bytes, items.start(item));
    const eventId = cursor.text(1);
    if (cursor.text(0) === 'FAILED' && eventId !== undefined && isGuid(eventId)) return eventId;
  }
  return undefined;
}

/**
 * Commands to type after a search that showed a failed event, each with a comment. What is configured is not
 * repeated.
 */
function failureHints(id: string, filters: EventFilters, { runFlags }: Call['reporter']): string[] {
  const place = flagWords({ profile: runFlags.profile }, ['profile']);
  const chosen = filters.words('id', 'status');
  const command = (...words: string[]) => shellText(['hooktrail', 'events', ...words, ...place]);
  return [
    `${command('get', id)}  # in full`,
    `${command('explain', ...chosen)}  # what failures have in common`,
  ];
}
