import type { Cause } from '../explain/exact-counts.ts';
import { type SecondReading, TwoReadings } from '../explain/two-readings.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { noSuchField } from '../items/near-field.ts';
import { wordMatcher } from '../items/whole-words.ts';
import { nameFilter } from '../names/name-filter.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { foldPages, ofKept } from '../questions/fold.ts';
import { HealthFold } from '../questions/health-fold.ts';
import { type Health, NO_EVENTS, namedRows } from '../questions/health-row.ts';
import { findLargestOutage, type LargestOutage } from '../questions/outage.ts';
import { Receivers } from '../questions/receivers.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import type { Percentiles } from '../statistics/percentiles.ts';
import type { Instant } from '../time/instant.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';

export type Subject =
  | { readonly by: 'id' | 'address'; readonly id: string }
  | { readonly by: 'name'; readonly id: undefined };

export type OwnHealth = Omit<Health, 'values' | 'address'>;

type HealthInShort = Pick<Health, 'state' | 'failed' | 'events' | 'failingSince' | 'edge'>;

export interface SubscriptionHealth extends HealthInShort {
  readonly id: string;
  readonly lastFailed: Instant | undefined;
}

export interface NameHealth extends HealthInShort {
  readonly name: string;
}

export interface Shared {
  readonly subscriptions: number;
  readonly withFailures: number;
  readonly failing: number;
}

export interface Latency {
  readonly field: string;
  readonly percentiles: Percentiles;
}

const SUBSCRIPTION = memberPath('subscriptionId');

/** Indexes of the groupings. */
const ALL = 0;
const BY_SUBSCRIPTION = 1;
const BY_NAME = 2;

export interface AboutAnswers {
  readonly health: OwnHealth;
  /** Worst first, counting only the subject's own events. */
  readonly ofSubscriptions: readonly SubscriptionHealth[];
  /** Names that the word matches, worst first; empty for an id or an address. */
  readonly ofNames: readonly NameHealth[];
  readonly largestOutage: LargestOutage | undefined;
  readonly latency: Latency | undefined;
}

interface QuestionOptions {
  readonly nameField: FieldPath | undefined;
  readonly latencyField: FieldPath | undefined;
  readonly second: SecondReading;
}

/** Questions about the subject's events, and about those of all others. */
export class AboutQuestions {
  readonly everyone = new HealthFold([[SUBSCRIPTION]], UTC);
  readonly receivers = new Receivers();
  readonly #own: HealthFold;
  readonly #failures: TwoReadings;
  readonly #latency: EventGroups | undefined;
  readonly #isMeant: (name: string) => boolean;
  readonly #keep;
  #answers: AboutAnswers | undefined;
  #sample: Items | undefined;

  constructor(word: string, subject: Subject, { nameField, latencyField, second }: QuestionOptions) {
    const { again, showKept } = second;
    this.#failures = new TwoReadings({ again: again && (() => this.#keptOf(again())), showKept });
    const byName = subject.by === 'name' && nameField ? [[nameField]] : [];
    this.#keep = nameFilter(byName[0]?.[0] ?? SUBSCRIPTION, [subject.id ?? word]);
    this.#own = new HealthFold([[], [SUBSCRIPTION], ...byName], UTC, nameField);
    this.#isMeant = wordMatcher(word);
    this.#latency = latencyField && new EventGroups([], UTC, latencyField);
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

  /** Call after `askOf`. */
  result(): AboutAnswers {
    this.#answers ??= this.#answer();
    return this.#answers;
  }

  #answer(): AboutAnswers {
    const ofSubscriptions = this.#ofSubscriptions();
    const [row = NO_EVENTS] = this.#own.result(ALL);
    const [worst, another] = ofSubscriptions;
    // Several subscriptions together are in the state of the worst.
    const { state, failingSince, edge } = worst && another ? worst : row;
    const { numberField, numbers } = this.#latency ?? {};
    const percentiles = numbers?.percentiles();
    return {
      health: { ...row, state, failingSince, edge },
      ofSubscriptions,
      ofNames: this.#ofNames(),
      // Deliveries to another subscription do not end an outage.
      largestOutage: this.receivers.result().size === 1 ? findLargestOutage(this.#own) : undefined,
      latency: numberField && percentiles && { field: numberField.text, percentiles },
    };
  }

  #ofSubscriptions(): SubscriptionHealth[] {
    const rows = namedRows(this.#own.result(BY_SUBSCRIPTION), true, undefined);
    return rows.flatMap(({ values: [id], ...row }) => (typeof id === 'string' ? [{ ...row, id }] : []));
  }

  /** An event may have several names, only one of which matches. */
  #ofNames(): NameHealth[] {
    const rows = namedRows(this.#own.result(BY_NAME), false, undefined);
    return rows.flatMap(({ values: [value], ...row }) => {
      const name = String(value ?? '');
      return this.#isMeant(name) ? [{ ...row, name }] : [];
    });
  }

  async causes(zone: TimeZone): Promise<readonly Cause[]> {
    return (await this.#failures.explain(zone)).causes;
  }

  /** Counts all subscriptions except `own`. One that is off or gone is not failing. */
  shared(names: SubscriptionNames | undefined, own: ReadonlySet<string> = new Set()): Shared {
    // The list has only those that are switched on.
    const isActive = (id: unknown) => !names?.isListed || names.of(String(id))?.state === 'on';
    const rows = this.everyone.result().filter(({ values: [id] }) => !own.has(String(id)));
    return {
      subscriptions: rows.length,
      withFailures: rows.filter(({ failed }) => failed > 0).length,
      failing: rows.filter(({ state, values: [id] }) => state === 'failing' && isActive(id)).length,
    };
  }

  /** Counts the events of these subscriptions, whoever they are for. */
  countOf(subscriptionIds: ReadonlySet<string>): number {
    const rows = this.everyone.result().filter(({ values: [id] }) => subscriptionIds.has(String(id)));
    return rows.reduce((total, { events }) => total + events, 0);
  }

  doubts(isUnknownName: boolean): string[] {
    const ofName = isUnknownName ? this.#keep.doubts() : [];
    const { numberField, numbers } = this.#latency ?? {};
    if (!numberField || !this.#sample || numbers?.count !== 0) return ofName;
    return [...ofName, `--latency-field: ${noSuchField(numberField, this.#sample)}`];
  }
}
