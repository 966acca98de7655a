import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { ServiceError } from '../errors.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import type { FormatOptions, ItemWriter } from '../formats/format-options.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import type { Service } from '../http/service.ts';
import { EMPTY_LIST, idsOfInput } from '../ids/event-ids.ts';
import { memberPath } from '../items/field-path.ts';
import { comparedId } from '../items/guids.ts';
import { Items } from '../items/items.ts';
import { createCursor } from '../items/known-fields.ts';
import { type SubscriptionNames, withNames } from '../names/subscription-names.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { adaptiveClient, askPage } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import { withService } from '../sign-in/session.ts';
import type { SourceOptions } from '../sources/event-source.ts';
import { byServiceClock } from '../sources/service-clock.ts';
import { storedEvents } from '../sources/stored-events.ts';
import { warnOfDoubts } from '../terminal/reporter.ts';

/** An event excluded by the filters counts as not found. */
export interface GetOptions extends SourceOptions {
  /** Undefined if the ids are read from standard input. */
  readonly ids: readonly string[] | undefined;
  /** True if standard input was requested, and may be empty. */
  readonly mayBeEmpty: boolean;
  /**
   * Events printed together. The first batch determines a table's columns; a batch of one is printed at once.
   */
  readonly batch: number;
  /** True if nothing is printed without items; other formats need their start and end. */
  readonly isForPeople: boolean;
  readonly takesNames: boolean;
  readonly format: FormatOptions;
}

/** Prints the events in the order of the ids, and warns of missing ones. Returns their number. */
export async function getEvents(options: GetOptions, call: Call): Promise<number> {
  const { ids, mayBeEmpty, from } = options;
  const createWriter = (names?: SubscriptionNames) =>
    createItemWriter({ ...options.format, names }, call.context, call.reporter);
  const onEmpty = () => call.reporter.notice(EMPTY_LIST);
  const source: Ids = (ending) => ids ?? idsOfInput(call.context, ending, mayBeEmpty ? onEmpty : undefined);
  if (from !== undefined)
    return await printAll(storedById(source, from, options, call), await createWriter(), options, call);
  return await withService(call, async (service) => {
    const filters = await resolveFilters(options.filters, service, call.reporter);
    const all = eventsById(source, service, { ...options, filters }, call);
    return await withNames(service, options.takesNames, async (names) =>
      printAll(all, await createWriter(names), options, call),
    );
  });
}

/** Requests events by id, one at a time (service description, part 4) and in parallel. */
export async function* eventsById(
  ids: Ids,
  service: Service,
  { filters, concurrency }: Pick<GetOptions, 'filters' | 'concurrency'>,
  { context, reporter }: Call,
): AsyncGenerator<Got> {
  const { clock, signal } = context;
  const keep = filters.createKeep();
  const { client: sender, width } = adaptiveClient(service, concurrency);
  const { queries, client } = await byServiceClock(filters, sender, 1, clock, warnOfDoubts(reporter));
  const ask = async (id: string, ending: AbortSignal) => {
    const texts: Buffer[] = [];
    // One event has a record for each of its subscriptions, which may match different queries.
    for (const query of queries) {
      const window = { start: 1, count: PAGE_SIZE };
      const { page } = await askPage(client, { ...query, eventId: id }, window, ending);
      texts.push(...page.items.texts());
    }
    return Items.of(texts);
  };
  for await (const { job: id, result } of readAhead(ids, ask, width, signal)) {
    checkIds(result, id);
    yield { id, items: keep?.(result) ?? result };
  }
  for (const doubt of keep?.doubts() ?? []) reporter.warning(doubt, { kind: 'usage' });
}

/** Like `eventsById`, from an export or a file: reads all ids first, and then the events in one pass. */
export async function* storedById(
  ids: Ids,
  place: string,
  { filters }: Pick<GetOptions, 'filters'>,
  { context, reporter }: Call,
): AsyncGenerator<Got> {
  const wanted: string[] = [];
  for await (const id of ids(context.signal)) wanted.push(id);
  const texts = new Map(wanted.map((id): [string, Buffer[]] => [comparedId(id), []]));
  const cursor = createCursor([memberPath('eventId')]);
  for await (const { items } of storedEvents(place, filters, { context, onDoubt: warnOfDoubts(reporter) })) {
    for (let item = 0; item < items.count; item++) {
      cursor.read(items.bytes, items.start(item));
      texts.get(comparedId(cursor.text(0) ?? ''))?.push(Buffer.from(items.text(item)));
    }
  }
  for (const id of wanted) yield { id, items: Items.of(texts.get(comparedId(id)) as Buffer[]) };
}

export type Ids = (ending: AbortSignal) => AsyncIterable<string> | Iterable<string>;

async function printAll(
  all: AsyncIterable<Got>,
  writer: ItemWriter,
  options: GetOptions,
  { context, reporter }: Call,
): Promise<number> {
  const { batch, isForPeople } = options;
  const absence = absenceOf(options);
  let missing = 0;
  let isPrinted = false;
  let found: Buffer[] = [];
  const print = async (isLast = false) => {
    if (found.length === 0) return;
    await writer.write(Items.of(found), isLast);
    isPrinted = true;
    found = [];
  };
  try {
    for await (const { id, items } of all) {
      if (items.count === 0) {
        const next = missing++ === 0 ? absence.next : undefined;
        reporter.warning(`the event ${id} was not ${absence.found}`, { kind: 'not-found', next });
      }
      found.push(...items.texts());
      if (found.length >= batch) await print();
    }
    await print(true);
  } catch (error) {
    // Still print events found before a bad line.
    if (!context.signal.aborted) await print();
    await writer.abort?.();
    throw error;
  }
  if (!isPrinted && isForPeople) await writer.abort?.();
  else await writer.end?.();
  return missing;
}

function absenceOf({ filters, from }: Pick<GetOptions, 'filters' | 'from'>) {
  const isFiltered = filters.texts().length > filters.eventIds.length;
  if (isFiltered) return { found: 'found by these filters', next: 'without the filters it may be found' };
  return { found: 'found', next: from === undefined ? NOT_HERE : undefined };
}

const NOT_HERE = advise`another profile may know it (${hooktrail('profiles')} lists them); the service keeps events for a limited time`;

export interface Got {
  readonly id: string;
  /** Usually one; none if the id is not found. */
  readonly items: Items;
}

/** Throws `ServiceError` if an item has a different id than requested. It may have none. */
function checkIds(items: Items, id: string): void {
  const cursor = createCursor([memberPath('eventId')]);
  for (let item = 0; item < items.count; item++) {
    cursor.read(items.bytes, items.start(item));
    const found = cursor.text(0);
    if (found === undefined || comparedId(found) === comparedId(id)) continue;
    throw new ServiceError(`the service was asked for the event ${id} and answered with ${found}`);
  }
}
