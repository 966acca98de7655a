import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Cause } from '../explain/exact-counts.ts';
import { againFrom } from '../explain/two-readings.ts';
import { EventFilters } from '../filters/event-filters.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { foldPages } from '../questions/fold.ts';
import { lastOf, withoutPast } from '../questions/health-row.ts';
import { findOutage, type Outage } from '../questions/outage.ts';
import { findSilences } from '../questions/silence.ts';
import { withSilence } from '../questions/silent-rows.ts';
import { type EventSource, type SourceOptions, withEventSource } from '../sources/event-source.ts';
import { type Instant, instantAt, milliseconds } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import { UTC } from '../time/time-zone.ts';
import {
  type AboutAnswers,
  AboutQuestions,
  type OwnHealth,
  type Shared,
  type Subject,
} from './about-questions.ts';
import { readSubject, withoutDoubts } from './about-subject.ts';

export interface AboutOptions extends SourceOptions {
  readonly word: string;
  readonly latencyField: FieldPath | undefined;
}

export interface About extends AboutAnswers {
  readonly by: Subject['by'];
  readonly word: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly subscriptionIds: readonly string[];
  readonly name: string | null;
  readonly address: string | null;
  readonly endpoint: 'on' | 'off' | 'gone' | null;
  /** Undefined without a given window, or if the events can be read only once. */
  readonly earlier: Counted | undefined;
  readonly outage: Outage | undefined;
  readonly causes: readonly Cause[];
  readonly shared: Shared;
  /** Like `shared`, without the subject's own subscriptions. */
  readonly others: Shared;
  /** True if its only subscription also gets events of other names. */
  readonly isOfSeveral: boolean;
}

export interface Counted {
  readonly after: Instant;
  readonly before: Instant;
  readonly events: number;
  readonly failed: number;
}

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
    const names = source.service?.askNames();
    const read = async (subject: Subject, chosen: EventFilters) => {
      const second = againFrom(source, chosen);
      const questions = new AboutQuestions(word, subject, { nameField, latencyField, second });
      asked.push(questions);
      await questions.askOf(source.readOutcomes(chosen, source.window));
      return questions;
    };
    const found = await readSubject(word, { source, names, nameField }, read);
    return await gatherAbout(word, found, { source, names }, call.reporter);
  });
  return await about.finally(() => Promise.all(asked.map((questions) => questions.close())));
}

interface Known {
  readonly source: EventSource;
  readonly names: SubscriptionNames | undefined;
}

/** Asks what the reading could not answer: addresses, and events of other times. */
async function gatherAbout(
  word: string,
  { subject, reading }: { readonly subject: Subject; readonly reading: AboutQuestions },
  { source, names }: Known,
  reporter: Call['reporter'],
): Promise<About> {
  const { everyone } = reading;
  const answers = reading.result();
  const { health, ofSubscriptions } = answers;
  const ids = reading.receivers.result();
  await names?.learn(ids);
  const { address, endpoint } = endpointOf(ids, names);
  const { after, before } = source.windowOf(everyone.times.bounds);
  source.warnOfUnknown(everyone.unknownOutcomes, everyone.times);

  const chosen = chosenFilters(source.filters, word, subject);
  const [worst] = ofSubscriptions;
  // Deliveries to another subscription do not end this one's outage.
  const failing = worst && ids.size > 1 ? chosen.withSubscriptions([worst.id]) : chosen;
  const lastFailed = worst?.lastFailed ?? health.lastFailed;
  const outage = await findOutage(source, failing, lastFailed, { after, before }, backTo(after));

  const watched = { chosen, last: lastOf(health) };
  // A service cannot count the events of a name.
  const canBeSilent = subject.id !== undefined || !source.service;
  const silence = canBeSilent ? (await findSilences(source, [watched], before)).get(watched) : undefined;

  const isUnknownName = health.events === 0 && outage === undefined && subject.by === 'name';
  for (const doubt of reading.doubts(isUnknownName)) reporter.warning(doubt, { kind: 'usage' });

  const isRepeatable = !source.isReadOnce && source.window !== undefined;
  const earlier = isRepeatable ? await countEarlier(source, chosen, after, before) : undefined;
  return {
    ...answers,
    by: subject.by,
    ...{ word, after, before, address, endpoint, outage, earlier },
    health: withoutPast(withSilence(withQuietState(health), silence), endpoint ?? undefined),
    subscriptionIds: [...ids],
    name: health.who,
    causes: await reading.causes(source.filters.zone),
    shared: reading.shared(names),
    others: reading.shared(names, ids),
    isOfSeveral: subject.by === 'name' && reading.countOf(ids) > health.events,
  };
}

/** As `events health` calls a subscription without events in the window. */
function withQuietState(health: OwnHealth): OwnHealth {
  return health.events === 0 ? { ...health, state: 'silent' } : health;
}

function endpointOf(
  ids: ReadonlySet<string>,
  names: SubscriptionNames | undefined,
): Pick<About, 'address' | 'endpoint'> {
  const [id, other] = ids;
  if (id === undefined || other !== undefined || !names) return { address: null, endpoint: null };
  return { address: names.nameOf(id) ?? null, endpoint: names.of(id)?.state ?? null };
}

function backTo(after: Instant): Instant {
  return instantAt(milliseconds(after) - OUTAGE_DAYS * DAY_MS) ?? after;
}

/** For other windows of the same subject. */
function chosenFilters(filters: EventFilters, word: string, { id }: Subject): EventFilters {
  const certain = withoutDoubts(filters);
  if (id !== undefined) return certain.withSubscriptions([id]);
  return new EventFilters({ ...certain, nameWords: [word] });
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
  if (source.service && !chosen.runHere) {
    const counts = await source.service.count([
      ...chosen.withStatuses('SUCCESS').queriesWithin(within),
      ...chosen.withStatuses('FAILED').queriesWithin(within),
    ]);
    const half = counts.length / 2;
    const sum = (some: readonly number[]) => some.reduce((total, one) => total + one, 0);
    return { ...within, events: sum(counts), failed: sum(counts.slice(half)) };
  }
  const all = new EventGroups([], UTC);
  await foldPages(source.readOutcomes(chosen, within), [all]);
  return { ...within, events: all.failed + all.delivered, failed: all.failed };
}
