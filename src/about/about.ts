import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { ServiceError, UsageError } from '../errors.ts';
import type { Cause } from '../explain/exact-counts.ts';
import { againFrom, type SecondReading, TwoReadings } from '../explain/two-readings.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { guidsIn, type Items, withoutGuidCase } from '../items/items.ts';
import { noSuchField } from '../items/near-field.ts';
import { wordMatcher } from '../items/whole-words.ts';
import { shownAddress } from '../names/callback-address.ts';
import { nameFilter } from '../names/name-filter.ts';
import { type SubscriptionNames, withWord } from '../names/subscription-names.ts';
import { createWhoReader } from '../names/who.ts';
import { foldPages, ofKept } from '../questions/fold.ts';
import { HealthFold } from '../questions/health-fold.ts';
import { type Health, lastOf, NO_EVENTS, namedRows, withoutPast } from '../questions/health-row.ts';
import { NumberPercentiles } from '../questions/number-percentiles.ts';
import { findLargestOutage, findOutage, type LargestOutage, type Outage } from '../questions/outage.ts';
import { OutcomeCount } from '../questions/outcome-count.ts';
import { Receivers } from '../questions/receivers.ts';
import { findSilences, type Silence } from '../questions/silence.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import {
  type EventSource,
  type PageOfOutcomes,
  type SourceOptions,
  withEventSource,
} from '../sources/event-source.ts';
import type { Percentiles } from '../statistics/percentiles.ts';
import { type Instant, instantAt, milliseconds } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';

export interface AboutOptions extends SourceOptions {
  readonly word: string;
  readonly latencyField: FieldPath | undefined;
}

type Subject =
  | { readonly by: 'id' | 'address'; readonly id: string }
  | { readonly by: 'name'; readonly id: undefined };

export interface About {
  readonly by: Subject['by'];
  readonly word: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly subscriptionIds: readonly string[];
  readonly name: string | null;
  readonly address: string | null;
  readonly endpoint: 'on' | 'off' | 'gone' | null;
  readonly health: OwnHealth;
  /** Worst first, counting only its own events. */
  readonly ofSubscriptions: readonly SubscriptionHealth[];
  /** Names that the word matches, worst first; empty for an id or an address. */
  readonly ofNames: readonly NameHealth[];
  /** Undefined without a given window, or if the events can be read only once. */
  readonly earlier: Counted | undefined;
  readonly outage: Outage | undefined;
  readonly largestOutage: LargestOutage | undefined;
  readonly silence: Silence | undefined;
  readonly causes: readonly Cause[];
  readonly shared: Shared;
  /** Like `shared`, without the subject's own subscriptions. */
  readonly others: Shared;
  readonly latency: { readonly field: string; readonly percentiles: Percentiles } | undefined;
}

type OwnHealth = Omit<Health, 'values' | 'address'>;

type HealthInShort = Pick<Health, 'state' | 'failed' | 'events' | 'failingSince' | 'edge'>;

export interface SubscriptionHealth extends HealthInShort {
  readonly id: string;
  readonly lastFailed: Instant | undefined;
}

export interface NameHealth extends HealthInShort {
  readonly name: string;
}

export interface Counted {
  readonly after: Instant;
  readonly before: Instant;
  readonly events: number;
  readonly failed: number;
}

export interface Shared {
  readonly subscriptions: number;
  readonly withFailures: number;
  readonly failing: number;
}

const SUBSCRIPTION = memberPath('subscriptionId');
/** Maximum days to follow an outage back. */
const OUTAGE_DAYS = 30;

export async function askAbout(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { word, latencyField, ...options }: AboutOptions,
): Promise<About> {
  const { filters } = options;
  if (word === '') throw new UsageError('the word to look for is empty');
  if (filters.statuses.length > 0)
    throw new UsageError('--status: about counts failures and successes alike', {
      next: 'leave --status and --failed out',
    });
  const { nameField } = filters;
  const asked: AboutQuestions[] = [];
  const about = withEventSource(call, options, async (source) => {
    const names = source.askNames?.();
    const read = async (subject: Subject, chosen: EventFilters) => {
      const second = againFrom(source, chosen);
      const questions = new AboutQuestions(word, subject, { nameField, latencyField, second });
      asked.push(questions);
      await questions.askOf(source.readOutcomes(chosen, source.window));
      return questions;
    };
    const { subject, reading } = await readSubject(word, { source, names, nameField }, read);
    const { everyone, health } = reading;
    const ids = reading.receivers.result();
    await names?.learn(ids);
    const { address, endpoint } = endpointOf(ids, names);
    const { after, before } = source.windowOf(everyone.times.bounds);
    source.warnOfUnknown(everyone.unknownOutcomes, everyone.times);
    const chosen = chosenFilters(source.filters, word, subject, nameField);
    const [worst] = reading.ofSubscriptions();
    // Deliveries to another subscription do not end this one's outage.
    const failing = worst && ids.size > 1 ? chosen.withSubscriptions([worst.id]) : chosen;
    const outage = await findOutage(
      source,
      failing,
      worst?.lastFailed ?? health.lastFailed,
      { after, before },
      backTo(after),
    );
    const watched = { chosen, last: lastOf(health) };
    const [silence] =
      subject.id === undefined && source.count ? [] : await findSilences(source, [watched], before);
    const isUnknownName = health.events === 0 && outage === undefined && subject.by === 'name';
    for (const doubt of reading.doubts(isUnknownName)) call.reporter.warning(doubt, { kind: 'usage' });
    const isRepeatable = !source.isReadOnce && source.window !== undefined;
    const earlier = !isRepeatable ? undefined : await countEarlier(source, chosen, after, before);
    return {
      by: subject.by,
      ...{ word, after, before, outage, silence, earlier },
      health: withoutPast(health, endpoint ?? undefined),
      address,
      endpoint,
      subscriptionIds: [...ids],
      ofSubscriptions: reading.ofSubscriptions(),
      ofNames: reading.ofNames(),
      largestOutage: reading.largestOutage(),
      name: health.who,
      causes: await reading.causes(filters.zone),
      shared: reading.shared(names),
      others: reading.shared(names, ids),
      latency: reading.latency(),
    };
  });
  return await about.finally(() => Promise.all(asked.map((questions) => questions.close())));
}

function endpointOf(
  ids: ReadonlySet<string>,
  names: SubscriptionNames | undefined,
): Pick<About, 'address' | 'endpoint'> {
  const [id, other] = ids;
  if (id === undefined || other !== undefined || !names) return { address: null, endpoint: null };
  return { address: names.nameOf(id) ?? null, endpoint: names.of(id)?.state ?? null };
}

/** Indexes of the groupings. */
const ALL = 0;
const BY_SUBSCRIPTION = 1;
const BY_NAME = 2;

/** Questions about the subject's events, and about those of all others. */
class AboutQuestions {
  readonly everyone = new HealthFold([[SUBSCRIPTION]], UTC);
  readonly receivers = new Receivers();
  readonly #own: HealthFold;
  readonly #failures: TwoReadings;
  readonly #latency: NumberPercentiles | undefined;
  readonly #isMeant: (name: string) => boolean;
  readonly #keep;
  #sample: Items | undefined;

  constructor(
    word: string,
    subject: Subject,
    {
      nameField,
      latencyField,
      second: { again, showKept },
    }: {
      readonly nameField: FieldPath | undefined;
      readonly latencyField: FieldPath | undefined;
      readonly second: SecondReading;
    },
  ) {
    this.#failures = new TwoReadings({ again: again && (() => this.#keptOf(again())), showKept });
    const byName = subject.by === 'name' && nameField ? [[nameField]] : [];
    this.#keep = nameFilter(byName[0]?.[0] ?? SUBSCRIPTION, [subject.id ?? word]);
    this.#own = new HealthFold([[], [SUBSCRIPTION], ...byName], UTC, nameField);
    this.#isMeant = wordMatcher(word);
    this.#latency = latencyField && new NumberPercentiles(latencyField, UTC);
    if (subject.id !== undefined) this.receivers.add(subject.id);
  }

  async askOf(pages: AsyncIterable<PageOfOutcomes>): Promise<void> {
    const first = { see: this.#keepSample.bind(this) };
    const latency = this.#latency ? [this.#latency] : [];
    const own = [this.#own, this.receivers, this.#failures, first, ...latency];
    await foldPages(pages, [this.everyone, ofKept(this.#keep, own)]);
  }

  #keepSample({ items }: PageOfOutcomes): void {
    if (items.count > 0) this.#sample ??= items;
  }

  async *#keptOf(pages: AsyncIterable<PageOfOutcomes>): AsyncGenerator<PageOfOutcomes> {
    for await (const { items, haveFailed } of pages) yield { items: this.#keep(items), haveFailed };
  }

  async close(): Promise<void> {
    await this.#failures.close();
  }

  get health(): OwnHealth {
    const [row = NO_EVENTS] = this.#own.result(ALL);
    const [worst, another] = this.ofSubscriptions();
    if (!worst || !another) return row;
    const { state, failingSince, edge } = worst;
    return { ...row, state, failingSince, edge };
  }

  ofSubscriptions(): SubscriptionHealth[] {
    const rows = namedRows(this.#own.result(BY_SUBSCRIPTION), true, undefined);
    return rows.flatMap(({ values: [id], ...row }) => (typeof id === 'string' ? [{ ...row, id }] : []));
  }

  /** An event may have several names, only one of which matches. */
  ofNames(): NameHealth[] {
    const rows = namedRows(this.#own.result(BY_NAME), false, undefined);
    return rows.flatMap(({ values: [value], ...row }) => {
      const name = String(value ?? '');
      return this.#isMeant(name) ? [{ ...row, name }] : [];
    });
  }

  async causes(zone: TimeZone): Promise<readonly Cause[]> {
    return (await this.#failures.explain(zone)).causes;
  }

  /** Deliveries to another subscription do not end an outage, so this needs a single one. */
  largestOutage(): LargestOutage | undefined {
    return this.receivers.result().size === 1 ? findLargestOutage(this.#own) : undefined;
  }

  /** Counts all subscriptions except `own`. One that is off or gone is not failing. */
  shared(names: SubscriptionNames | undefined, own: ReadonlySet<string> = new Set()): Shared {
    // The list has only those that are switched on.
    const isActive = (id: unknown) => !names?.isListed || names.of(String(id))?.state === 'on';
    const ownIds = new Set([...own].map((id) => id.toLowerCase()));
    const rows = this.everyone.result().filter(({ values: [id] }) => !ownIds.has(String(id).toLowerCase()));
    return {
      subscriptions: rows.length,
      withFailures: rows.filter(({ failed }) => failed > 0).length,
      failing: rows.filter(({ state, values: [id] }) => state === 'failing' && isActive(id)).length,
    };
  }

  latency(): About['latency'] {
    const percentiles = this.#latency?.result();
    return this.#latency && percentiles && { field: this.#latency.field.text, percentiles };
  }

  doubts(isUnknownName: boolean): string[] {
    const ofName = isUnknownName ? this.#keep.doubts() : [];
    if (!this.#latency || this.#latency.result() || !this.#sample) return ofName;
    return [...ofName, `--latency-field: ${noSuchField(this.#latency.field, this.#sample)}`];
  }
}

function backTo(after: Instant): Instant {
  return instantAt(milliseconds(after) - OUTAGE_DAYS * DAY_MS) ?? after;
}

interface Knowledge {
  readonly source: EventSource;
  readonly names: SubscriptionNames | undefined;
  readonly nameField: FieldPath | undefined;
}

/**
 * Resolves the word and reads its events. Subscriptions that are switched off are not listed: their addresses
 * are known only through events, which are searched last. Throws `UsageError` if the word matches nothing or
 * several subscriptions, and `ServiceError` if the service cannot resolve it.
 */
async function readSubject(
  word: string,
  known: Knowledge,
  read: (subject: Subject, filters: EventFilters) => Promise<AboutQuestions>,
): Promise<{ readonly subject: Subject; readonly reading: AboutQuestions }> {
  const { source, names, nameField } = known;
  const { filters } = source;
  await names?.awaitList();
  const listed = subjectOf(word, names);
  if (listed) return { subject: listed, reading: await read(listed, filters) };
  const name: Subject = { by: 'name', id: undefined };
  const named = nameField && (await read(name, filters));
  if (named && named.health.events > 0) return { subject: name, reading: named };
  // Without the list the word could be in any address.
  await names?.requireList();
  const late =
    subjectOf(word, names) ?? (names?.isListed ? await findUnlisted(word, { ...known, names }) : undefined);
  if (late && late.by !== 'earlier name')
    return { subject: late, reading: await read(late, named ? withoutDoubts(filters) : filters) };
  if (named) {
    if (late) named.receivers.add(late.lastId);
    return { subject: name, reading: named };
  }
  throw unknownWord(word, known);
}

/** Days before the window's end to search for subscriptions that are off or gone. */
const UNLISTED_DAYS = 30;
/** Maximum events read in that search, newest first. */
const MAX_EVENTS_READ = 20_000;

/** A name whose last event precedes the window; `lastId` is that event's subscription. */
interface EarlierName {
  readonly by: 'earlier name';
  readonly lastId: string;
}

/**
 * Searches recent events for unlisted subscriptions whose address contains the word, and for names that match
 * it. Throws `ServiceError` if some addresses cannot be read, since the word may be in one of them.
 */
async function findUnlisted(
  word: string,
  { source, names, nameField }: Knowledge & { readonly names: SubscriptionNames },
): Promise<Subject | EarlierName | undefined> {
  const before = source.window?.before;
  if (!before) return undefined;
  const whoOf = createWhoReader(nameField);
  const isMeant = wordMatcher(word);
  const ids = new Set<string>();
  let events = 0;
  const after = instantAt(milliseconds(before) - UNLISTED_DAYS * DAY_MS);
  const chosen = withoutDoubts(source.filters.withoutTimes());
  for await (const { items } of source.read(chosen, { after, before }, 'newest first')) {
    const whos = Array.from({ length: items.count }, (_, item) => whoOf(items.bytes, items.start(item)));
    for (const { subscriptionId } of whos) if (subscriptionId !== undefined) ids.add(subscriptionId);
    await names.learn(ids);
    const found = subjectOf(word, names);
    if (found) return found;
    const lastId = whos.find((who) => who.names.some(isMeant))?.subscriptionId;
    if (lastId !== undefined) return { by: 'earlier name', lastId };
    events += items.count;
    if (events >= MAX_EVENTS_READ) break;
  }
  const unknown = [...ids].filter((id) => !names.of(id));
  if (unknown.length === 0) return undefined;
  throw new ServiceError(
    `'${word}' is not in an address that is known, and ${unknown.length} ${unknown.length === 1 ? 'subscription' : 'subscriptions'} with events could not be looked up`,
    { details: unknown.slice(0, 10), next: 'give the id of the subscription' },
  );
}

/** Matches the id or part of a known address. Throws `UsageError` if it matches several. */
function subjectOf(word: string, names: SubscriptionNames | undefined): Subject | undefined {
  const [guid, another] = guidsIn(word);
  if (guid !== undefined && another === undefined) return { by: 'id', id: guid.toLowerCase() };
  const found = withWord(names?.all ?? [], word);
  const [one, second] = found;
  if (one && !second) return { by: 'address', id: withoutGuidCase(one.id) };
  if (one)
    throw new UsageError(`'${word}' is in the addresses of ${found.length} subscriptions`, {
      details: found.map(({ id, callbackUrl = '' }) => `${shownAddress(callbackUrl)} (${id})`),
      next: 'give more of the address, or the id of one',
    });
  return undefined;
}

function unknownWord(word: string, { source, names }: Knowledge): UsageError {
  if (!names?.isListed)
    return new UsageError(
      `'${word}' is not an id, and ${source.isStored ? 'stored events name' : 'this service lists'} no addresses`,
      {
        next: advise`give the id of a subscription, or name the field that says who an event is for: ${hooktrail('config set name-field PATH')}`,
      },
    );
  const shown = names.all.map(({ callbackUrl = '' }) => shownAddress(callbackUrl) ?? '');
  const words = shown.flatMap((address) => [
    address,
    address.split('/')[0] as string,
    ...address.split(/[./]/),
  ]);
  return new UsageError(
    `'${word}' is neither an id nor in the address of a subscription that is switched on or had events in the last ${UNLISTED_DAYS} days`,
    didYouMean(
      word,
      [...new Set(words)].filter((one) => one.length > 2),
      advise`${hooktrail('subscriptions')} lists those that are switched on`,
    ),
  );
}

/** For another reading of events whose doubts were already reported. */
function withoutDoubts(filters: EventFilters): EventFilters {
  return new EventFilters({ ...filters, hasDoubts: false });
}

/** For other windows of the same subject. */
function chosenFilters(
  filters: EventFilters,
  word: string,
  { id }: Subject,
  nameField: FieldPath | undefined,
): EventFilters {
  const certain = withoutDoubts(filters);
  if (id !== undefined) return certain.withSubscriptions([id]);
  return new EventFilters({ ...certain, nameWords: [word], nameField });
}

/** The service counts if it can apply all filters. */
async function countEarlier(
  source: EventSource,
  chosen: EventFilters,
  after: Instant,
  before: Instant,
): Promise<Counted | undefined> {
  const start = instantAt(2 * milliseconds(after) - milliseconds(before));
  if (!start) return undefined;
  const within = { after: start, before: after };
  if (source.count && !chosen.runHere) {
    const counts = await source.count([
      ...chosen.withStatuses('SUCCESS').queriesWithin(within),
      ...chosen.withStatuses('FAILED').queriesWithin(within),
    ]);
    const half = counts.length / 2;
    const sum = (some: readonly number[]) => some.reduce((total, one) => total + one, 0);
    return { ...within, events: sum(counts), failed: sum(counts.slice(half)) };
  }
  const count = new OutcomeCount();
  await foldPages(source.readOutcomes(chosen, within), [count]);
  return { ...within, ...count.result() };
}
