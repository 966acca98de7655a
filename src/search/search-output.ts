import type { Call } from '../command.ts';
import { isReadOnce } from '../files/whole-files.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { furtherBack, warnOfNoMatch } from '../filters/no-match.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import { CsvColumns } from '../formats/csv-columns.ts';
import type { FormatOptions } from '../formats/format-options.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import type { NoteParts, NoteWindow, TableNote } from '../formats/table-note.ts';
import { type Service, waitText } from '../http/service.ts';
import { memberPath } from '../items/field-path.ts';
import type { Direction } from '../items/item-times.ts';
import { type Items, isGuid } from '../items/items.ts';
import { createCursor } from '../items/known-cursor.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
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
  const { preview, from, filters, pageSize, limit = Number.POSITIVE_INFINITY, isGlance } = options;
  if (preview) {
    const size = isGlance || filters.runHere ? pageSize : Math.min(pageSize, limit);
    await previewRequests(call, filters, size, preview);
    return 0;
  }
  return from === undefined ? await searchService(options, call) : await searchStored(from, options, call);
}

async function searchService(options: SearchOptions, call: Call): Promise<number> {
  const { context, reporter } = call;
  const { clock, signal, stdout, stderr } = context;
  const { filters, direction, limit, pageSize, concurrency, format } = options;
  const { zone } = filters;
  return await withService(call, async (service, settings) => {
    const chosen = await resolveFilters(filters, service, reporter);
    const names = format.format === 'table' && !format.fields ? new SubscriptionNames(service) : undefined;
    const progress = new SearchProgress(call);
    try {
      const reading = { direction, limit, pageSize, concurrency, clock, signal };
      const search = await openSearch(service, chosen, { ...reading, ...progress.watching });
      const [asked = {}] = search.queries;
      const window = async () => ({
        after: asked.after,
        before: asked.before ?? endOfSearch(await search.askedAt),
      });
      const printing = { ...options, filters: chosen, format: { ...format, names } };
      const { count, failedId } = await printFound({ pages: search.pages, window }, printing, progress, call);
      if (stdout.isTerminal)
        reporter.notice(readNotice('searched', asked, search.lookedAt(), zone, settings, context));
      if (failedId !== undefined && stderr.isTerminal && format.format === 'table')
        for (const line of failureHints(failedId, filters, reporter)) reporter.notice(`next: ${line}`);
      if (count === 0) await explainNoMatch(asked, progress.isDoubted, chosen, service, call);
      return count;
    } finally {
      progress.stop();
      names?.close();
    }
  });
}

async function searchStored(from: string, options: SearchOptions, call: Call): Promise<number> {
  const { context, reporter } = call;
  const { filters, direction, limit = Number.POSITIVE_INFINITY, mustTell, format } = options;
  // It reads files and decompresses, and takes as long to load as a tenth of a search.
  const { storedEvents } = await import('../sources/stored-events.ts');
  const open = (watching: Pick<StoredOptions, 'onDoubt' | 'onRead'>) => {
    const read = (most?: number) =>
      storedEvents(from, filters, { mustTell, context, ...watching, limit: most });
    return direction ? inDirection(read(), direction, limit) : read(limit);
  };
  const csvColumns = isReadOnce(from) ? undefined : await CsvColumns.ofAll(format, open({}));
  const progress = new SearchProgress(call);
  try {
    let lookedAt = 0;
    const onRead = (events: number) => {
      lookedAt += events;
    };
    const pages = open({ onDoubt: progress.watching.onDoubt, onRead });
    const [asked] = filters.queries(context.clock.now());
    const printing = { ...options, format: { ...format, csvColumns } };
    const { count } = await printFound({ pages, window: async () => asked }, printing, progress, call);
    if (count === 0 && context.stdout.isTerminal)
      reporter.notice(`searched ${eventsText(lookedAt)} of ${from === '-' ? 'standard input' : from}`);
    return count;
  } finally {
    progress.stop();
  }
}

/** The spinner of a search, and its doubts. */
class SearchProgress {
  /** True if a doubt about the filters or the result was reported. */
  isDoubted = false;
  readonly watching: Required<Pick<FindOptions, 'onRetry' | 'onDoubt'>>;
  readonly #shown;
  #pages = 0;

  constructor({ context, reporter }: Call) {
    this.#shown = startProgress(context, reporter, 'searching');
    this.watching = {
      onRetry: (attempt) => this.#shown.update({ note: waitText(attempt) }),
      onDoubt: (doubt, kind = 'incomplete') => {
        this.isDoubted = true;
        reporter.warning(doubt, { kind });
      },
    };
  }

  /** Shows that one more page was read. */
  update(events: number, total: number | undefined): void {
    this.#pages++;
    this.#shown.update({ pages: this.#pages, events, total, note: '' });
  }

  stop(): void {
    this.#shown.stop();
  }
}

/**
 * Warns of a type that is not on offer, after a search that found nothing. Where nothing is doubted, says to
 * a person how to look further back.
 */
async function explainNoMatch(
  { after, before }: Query,
  isDoubted: boolean,
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

interface Found {
  readonly pages: AsyncIterable<FoundPage>;
  /** The time that the events are from, once they are read. */
  readonly window: () => Promise<NoteWindow>;
}

interface Printed {
  readonly count: number;
  /** On a terminal, the id of the first failed event. */
  readonly failedId: string | undefined;
}

async function printFound(
  found: Found,
  options: SearchOptions,
  progress: SearchProgress,
  { context, reporter }: Call,
): Promise<Printed> {
  const { filters, format, limit = Number.POSITIVE_INFINITY } = options;
  const { constantFields: constant, zone, grepTexts } = filters;
  const { isTerminal } = context.stdout;
  const isForPerson = isTerminal && format.format === 'table';
  const matched = isForPerson && grepTexts.length > 0 ? new MatchedFields(grepTexts) : undefined;
  let count = 0;
  let total: number | undefined;
  let failedId: string | undefined;
  const note = async () => options.noteOf(await factsOf(options, found, count, total));
  const writer = await createItemWriter({ ...format, constant, zone, note }, context, reporter);
  try {
    for await (const page of found.pages) {
      count += page.items.count;
      total = page.total;
      progress.update(count, total);
      if (isTerminal) failedId ??= firstFailedId(page.items);
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
  return { count, failedId };
}

/** The facts below a table of `count` events, of `total` that match, and the time that they are from. */
async function factsOf(
  { filters, isGlance, limit = Number.POSITIVE_INFINITY }: SearchOptions,
  found: Found,
  count: number,
  total: number | undefined,
) {
  const { zone } = filters;
  const window = await found.window();
  const { after, before } = window;
  const ends = [after && `after ${zone.shown(after.text)}`, before && `before ${zone.shown(before.text)}`];
  const created = ends.filter(Boolean).join(' and ');
  const events = eventsText(total ?? count);
  const some = total !== undefined && total > count ? `${grouped(count)} of ${events}` : events;
  const isCut = isGlance && count >= limit && (total === undefined || total > count);
  const first = total === undefined ? eventsText(count) : some;
  const facts = [
    isCut ? `the first ${first}; --all prints all of them` : some,
    created && `created ${created}`,
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
