import type { Call } from '../../command.ts';
import type { FieldPath } from '../../items/field-path.ts';
import type { Items } from '../../items/items.ts';
import { shellText } from '../../shell-words.ts';
import { keepKnownOutcomes } from '../../sources/stored-matches.ts';
import { eachOnce, warnOfDoubts } from '../../terminal/reporter.ts';
import { milliseconds } from '../../time/instant.ts';
import { DAY_MS, durationText, HOUR_MS } from '../../time/lengths.ts';
import { type OpenWatch, type WatchOptions, withWatch } from '../../watch/open-watch.ts';
import { pollsText } from '../../watch/poll-until-end.ts';
import type { Follower, WatchedItem } from '../../watch/watch-follower.ts';
import { areSubscriptions, filtersOfRow } from '../health-subject.ts';
import { type ChangeFindings, findAboutChange } from './change-findings.ts';
import { ChangeOutput, type ChangeOutputOptions } from './change-output.ts';
import { type ChangeSubject, subjectOf } from './reported-change.ts';
import { WatchedEndpoints } from './watched-endpoints.ts';
import { areKeptRows, type KeptRows, type RowChange, type RowRules, WatchedRows } from './watched-rows.ts';
import { WatchedSilences } from './watched-silences.ts';

/** Times are in milliseconds. */
export interface HealthWatchOptions extends WatchOptions, ChangeOutputOptions {
  readonly by: readonly FieldPath[];
  readonly failures: number;
  readonly lengthMs: number;
  readonly remindMs: number;
  readonly asksEndpoint: boolean;
}

/** Default length of the first reading, as for `events health`. */
const LOOK_BACK_MS = DAY_MS;
/** Every so many polls, the list of subscriptions is requested instead. */
const POLLS_PER_LIST = 5;

const UNKNOWN_OUTCOMES =
  'events whose publishStatus is neither SUCCESS nor FAILED are left out: their outcome is unknown';

export async function watchHealth(options: HealthWatchOptions, call: Call): Promise<void> {
  let unknownOutcomes = 0;
  const keep = <Some extends Items>(items: Some): Some => {
    const known = keepKnownOutcomes(items);
    unknownOutcomes += items.count - known.count;
    return known;
  };
  const kind = { command: commandOf(options.by), isKept: areKeptRows };
  const opening = { ...options, kind, lookBack: LOOK_BACK_MS, isInOrder: true, keep };
  await withWatch(opening, call, async (opened, held) => {
    const resolved = { ...options, filters: opened.filters };
    const rows = new WatchedRows(rulesOf(resolved, opened, held), opened.resumed?.kept);
    await opened.save(rows.kept);
    announceHealthWatch(resolved, opened, held.reporter);
    const watch = new HealthWatch(resolved, rows, opened, held);
    const warnOnce = eachOnce(warnOfDoubts(held.reporter));
    await watch.reportPending();
    const polled = async () => {
      await watch.polled();
      if (unknownOutcomes > 0) warnOnce(UNKNOWN_OUTCOMES, 'incomplete');
    };
    await opened.pollUntilEnd(watch, { take: watch.take, polled, waitsForSignIn: true });
    watch.output.requireAllReported();
  });
}

function rulesOf(
  { filters, by, overlap, failures, lengthMs, remindMs }: HealthWatchOptions,
  { follower, resumed }: OpenWatch<KeptRows>,
  { context }: Pick<Call, 'context'>,
): RowRules {
  const read = context.clock.now() - milliseconds(follower.state.start);
  return {
    by,
    zone: filters.zone,
    nameField: filters.nameField,
    failures,
    lengthMs,
    windowMs: resumed ? LOOK_BACK_MS : Math.max(HOUR_MS, read),
    overlapMs: overlap,
    remindMs,
  };
}

function commandOf(by: readonly FieldPath[]): string {
  const fields = areSubscriptions(by) ? [] : ['--by', by.map(({ text }) => text).join()];
  return shellText(['events', 'health', '--watch', ...fields]);
}

function announceHealthWatch(
  { filters, interval, failures, lengthMs }: HealthWatchOptions,
  { resumed, isPast }: Pick<OpenWatch<KeptRows>, 'resumed' | 'isPast'>,
  { notice }: Pick<Call['reporter'], 'notice'>,
): void {
  const which = shellText(filters.words('since', 'timezone')) || 'all events';
  const from = resumed ? ' from where it stopped' : '';
  const length = lengthMs > 0 ? ` and ${durationText(lengthMs)}` : '';
  const many = failures === 1 ? '1 failure' : `${failures} failures`;
  notice(
    `watching health${from}, ${pollsText(interval, isPast)}: ${which}; failing means ${many}${length} in a run`,
  );
}

type Opened = Pick<OpenWatch<KeptRows>, 'follower' | 'service' | 'deadline' | 'sync' | 'save'>;

class HealthWatch implements Pick<Follower, 'ended' | 'poll'> {
  readonly output: ChangeOutput;
  readonly #options: HealthWatchOptions;
  readonly #rows: WatchedRows;
  readonly #opened: Opened;
  readonly #call: Call;
  /** Only rows of subscriptions have an endpoint, and a rhythm that the service can count. */
  readonly #endpoints: WatchedEndpoints | undefined;
  readonly #silences: WatchedSilences | undefined;
  #polls = 0;

  constructor(options: HealthWatchOptions, rows: WatchedRows, opened: Opened, call: Call) {
    const { by, filters, concurrency } = options;
    this.#options = options;
    this.#rows = rows;
    this.#opened = opened;
    this.#call = call;
    this.output = new ChangeOutput(options, call);
    if (!areSubscriptions(by)) return;
    this.#endpoints = new WatchedEndpoints(rows, filters, opened.service, call);
    this.#silences = new WatchedSilences(rows, filters, concurrency, call);
  }

  get ended(): boolean {
    return this.#opened.follower.ended;
  }

  /** Every few polls requests the list of subscriptions instead: one request per interval. */
  async *poll(): AsyncGenerator<readonly WatchedItem[]> {
    const isForList = this.#endpoints?.isOffered && this.#polls % POLLS_PER_LIST === POLLS_PER_LIST - 1;
    // Failed polls do not count: a list must not suggest that an outage is over.
    if (isForList) await this.#endpoints?.look();
    else yield* this.#opened.follower.poll();
    this.#polls++;
  }

  take = async (items: readonly WatchedItem[]): Promise<boolean> => {
    this.#rows.see(items);
    this.#opened.follower.remember(items);
    return true;
  };

  async polled(): Promise<void> {
    const { follower, deadline, save } = this.#opened;
    const now = follower.state.watermark;
    if (this.#endpoints?.hasNewRows) await this.#endpoints.look();
    await this.#silences?.look(now);
    deadline.signal.throwIfAborted();
    this.#rows.reach(now);
    await save(this.#rows.kept);
    await this.reportPending();
  }

  async reportPending(): Promise<void> {
    const { deadline, sync, save } = this.#opened;
    const { pending } = this.#rows;
    for (let change = pending[0]; change; change = pending[0]) {
      const subject = subjectOf(this.#options.by, change.key, this.#rows.rows.get(change.key));
      const findings = await this.#findAbout(change, subject);
      await this.output.report({ ...change, ...subject, ...findings }, deadline.signal);
      await sync();
      pending.shift();
      await save(this.#rows.kept);
    }
  }

  async #findAbout(
    change: RowChange,
    { by, values, subscriptionId }: ChangeSubject,
  ): Promise<ChangeFindings> {
    const { filters, concurrency, asksEndpoint } = this.#options;
    const isAsked = asksEndpoint && (change.change === 'failing' || change.change === 'silent');
    const address = subscriptionId === undefined ? undefined : this.#endpoints?.callbackUrlOf(subscriptionId);
    const options = {
      filters: filtersOfRow(filters, by, values),
      concurrency,
      endpoint: isAsked ? address : undefined,
    };
    return await findAboutChange(change, options, this.#call);
  }
}
