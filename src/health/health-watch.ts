import type { Call } from '../command.ts';
import type { Output } from '../context.ts';
import { fewOf, ServiceError, UsageError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { createJqWriter } from '../formats/jq.ts';
import type { FieldPath } from '../items/field-path.ts';
import { Items } from '../items/items.ts';
import { findSilences } from '../questions/silence.ts';
import { SHORTEST_SILENCE_MS } from '../questions/silent-rows.ts';
import { shellText } from '../shell-words.ts';
import { withEventSource } from '../sources/event-source.ts';
import { keepKnownOutcomes } from '../sources/stored-matches.ts';
import { silenced } from '../terminal/reporter.ts';
import { grouped, terminalSafe } from '../terminal/terminal-text.ts';
import { type Instant, instantAt, milliseconds, parseInstant } from '../time/instant.ts';
import { DAY_MS, durationText, HOUR_MS } from '../time/lengths.ts';
import { UTC } from '../time/time-zone.ts';
import { RepeatedCommand, type RepeatedCommandOptions, variableText } from '../watch/command-runner.ts';
import { type OpenWatch, type WatchOptions, withWatch } from '../watch/open-watch.ts';
import { pollsText } from '../watch/poll-until-end.ts';
import type { Follower, WatchedItem } from '../watch/watch-follower.ts';
import { type ChangeFindings, findAboutChange } from './change-findings.ts';
import { areSubscriptions } from './health-subject.ts';
import {
  type ChangeSubject,
  linesOfChange,
  nextCommand,
  reportedJson,
  subjectOf,
} from './reported-change.ts';
import { WatchedEndpoints } from './watched-endpoints.ts';
import { areKeptRows, type KeptRows, type RowChange, type RowRules, WatchedRows } from './watched-rows.ts';

/** Times are in milliseconds. */
export interface HealthWatchOptions extends WatchOptions {
  readonly by: readonly FieldPath[];
  readonly failures: number;
  readonly lengthMs: number;
  readonly remindMs: number;
  readonly asksEndpoint: boolean;
  readonly isJson: boolean;
  readonly jq: string | undefined;
  readonly command: RepeatedCommandOptions | undefined;
}

/** Default length of the first reading, as for `events health`. */
const LOOK_BACK_MS = DAY_MS;
/** Every so many polls, the list of subscriptions is requested instead. */
const POLLS_PER_LIST = 5;
/** Interval between checks of a row without events. */
const SILENCE_LOOK_MS = HOUR_MS;
/** Maximum rows checked for a silence at once. */
const MAX_LOOKED_AT = 100;

export async function watchHealth(options: HealthWatchOptions, call: Call): Promise<void> {
  const unknownOutcomes = { count: 0 };
  const keep = <Some extends Items>(items: Some): Some => {
    const known = keepKnownOutcomes(items);
    unknownOutcomes.count += items.count - known.count;
    return known;
  };
  const kind = { command: commandOf(options.by), isKept: areKeptRows };
  const opening = { ...options, kind, lookBack: LOOK_BACK_MS, isInOrder: true, keep };
  await withWatch(opening, call, async (opened, held) => {
    const { filters, isPast, resumed, deadline } = opened;
    const rows = new WatchedRows(rulesOf({ ...options, filters }, opened, held), resumed?.kept);
    await opened.save(rows.kept);
    announceHealthWatch({ ...options, filters }, { isResumed: resumed !== undefined, isPast }, held.reporter);
    const watch = new HealthWatch({ ...options, filters }, { ...opened, rows }, held);
    await watch.report(deadline.signal);
    const polled = async () => {
      await watch.polled(deadline.signal);
      if (unknownOutcomes.count > 0 && !watch.hasWarned) watch.warnOfUnknownOutcomes();
    };
    await opened.pollUntilEnd(watch, { take: watch.take, polled, waitsForSignIn: true });
    watch.requireAllReported();
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
  { isResumed, isPast }: { readonly isResumed: boolean; readonly isPast: boolean },
  { notice }: Pick<Call['reporter'], 'notice'>,
): void {
  const which = shellText(filters.words('since', 'timezone')) || 'all events';
  const from = isResumed ? ' from where it stopped' : '';
  const length = lengthMs > 0 ? ` and ${durationText(lengthMs)}` : '';
  const many = failures === 1 ? '1 failure' : `${failures} failures`;
  notice(
    `watching health${from}, ${pollsText(interval, isPast)}: ${which}; failing means ${many}${length} in a run`,
  );
}

interface WatchParts extends Pick<OpenWatch<KeptRows>, 'follower' | 'service' | 'sync' | 'save'> {
  readonly rows: WatchedRows;
}

class HealthWatch implements Pick<Follower, 'ended' | 'poll'> {
  hasWarned = false;
  readonly #options: HealthWatchOptions;
  readonly #parts: WatchParts;
  readonly #call: Call;
  readonly #endpoints: WatchedEndpoints | undefined;
  readonly #command: RepeatedCommand | undefined;
  readonly #shape: ((json: string, name: string) => Promise<string>) | undefined;
  /** Time of the last check for a silence (milliseconds), by row key. */
  readonly #lookedAt = new Map<string, number>();
  #polls = 0;

  constructor(options: HealthWatchOptions, parts: WatchParts, call: Call) {
    this.#options = options;
    this.#parts = parts;
    this.#call = call;
    const { by, filters, command, jq } = options;
    this.#endpoints = areSubscriptions(by)
      ? new WatchedEndpoints(parts.rows, filters, parts.service, call)
      : undefined;
    this.#command = command && new RepeatedCommand(command, call.context, call.reporter);
    this.#shape = jq === undefined ? undefined : jqShape(jq, call);
  }

  get ended(): boolean {
    return this.#parts.follower.ended;
  }

  /** Every few polls requests the list of subscriptions instead: one request per interval. */
  async *poll(): AsyncGenerator<readonly WatchedItem[]> {
    const isForList = this.#endpoints?.isOffered && this.#polls % POLLS_PER_LIST === POLLS_PER_LIST - 1;
    // Failed polls do not count: a list must not suggest that an outage is over.
    if (isForList) await this.#endpoints?.look();
    else yield* this.#parts.follower.poll();
    this.#polls++;
  }

  take = async (items: readonly WatchedItem[]): Promise<boolean> => {
    this.#parts.rows.see(items);
    this.#parts.follower.remember(items);
    return true;
  };

  async polled(signal: AbortSignal): Promise<void> {
    const { rows, follower, save } = this.#parts;
    const now = follower.state.watermark;
    if (this.#endpoints?.hasNewRows) await this.#endpoints.look();
    await this.#lookForSilences(now);
    signal.throwIfAborted();
    rows.reach(now);
    await save(rows.kept);
    await this.report(signal);
  }

  warnOfUnknownOutcomes(): void {
    this.hasWarned = true;
    this.#call.reporter.warning(
      'events whose publishStatus is neither SUCCESS nor FAILED are left out: their outcome is unknown',
      { kind: 'incomplete' },
    );
  }

  async report(signal: AbortSignal): Promise<void> {
    const { rows, sync, save } = this.#parts;
    for (let change = rows.pending[0]; change; change = rows.pending[0]) {
      await this.#reportChange(change, signal);
      await sync();
      rows.pending.shift();
      await save(rows.kept);
    }
  }

  /** Throws `ServiceError` if the command failed on some changes for too long. */
  requireAllReported(): void {
    const changes = this.#command?.givenUp ?? [];
    if (changes.length === 0) return;
    const many = changes.length === 1 ? '1 change' : `${grouped(changes.length)} changes`;
    throw new ServiceError(`the command did not handle ${many}`, { details: fewOf(changes) });
  }

  async #reportChange(change: RowChange, signal: AbortSignal): Promise<void> {
    const { by, filters, isJson } = this.#options;
    const { context, reporter } = this.#call;
    const subject = subjectOf(by, change.key, this.#parts.rows.rows.get(change.key));
    const findings = await this.#findAbout(change, subject);
    const next = nextCommand(change, subject, filters, reporter.runFlags);
    if (!this.#command && !isJson && !this.#shape) {
      const lines = linesOfChange(change, subject, findings, next, filters.zone);
      return await context.stdout.write(`${lines.join('\n')}\n`, true);
    }
    const json = JSON.stringify(reportedJson(change, subject, findings, next), wellFormed);
    const text = this.#shape ? await this.#shape(json, nameOf(change, subject)) : json;
    // A jq program such as select() may drop changes.
    if (text === '') return;
    if (this.#command) return await this.#command.handle(commandSubject(change, subject, text), signal);
    const safe = context.stdout.isTerminal ? terminalSafe(text) : text;
    await context.stdout.write(`${safe}\n`, true);
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

  async #lookForSilences(now: number): Promise<void> {
    const { by, filters, concurrency } = this.#options;
    const { rows } = this.#parts;
    if (!areSubscriptions(by) || filters.runHere) return;
    const due = [...rows.rows]
      .filter(([key, row]) => {
        const { lastMs } = rows.historyOf(row);
        const isQuiet = row.endpoint === 'on' && row.silence === null && row.reported.level === 'fine';
        const lookedAt = this.#lookedAt.get(key) ?? Number.NEGATIVE_INFINITY;
        // If there are no events in the window, one check is enough.
        const isDue = lastMs === 0 ? !this.#lookedAt.has(key) : now - lookedAt >= SILENCE_LOOK_MS;
        return isQuiet && isDue && now - lastMs > SHORTEST_SILENCE_MS;
      })
      .slice(0, MAX_LOOKED_AT);
    if (due.length === 0) return;
    for (const [key] of due) this.#lookedAt.set(key, now);
    const watched = due.flatMap(([key, row]) => {
      const chosen = filtersOfRow(filters, by, [JSON.parse(key)]);
      const { last } = rows.historyOf(row);
      return chosen ? [{ key, chosen, last: last === null ? undefined : parseInstant(last) }] : [];
    });
    const whole = { filters: filters.withoutTimes(), from: undefined, concurrency };
    const ask = withEventSource({ ...this.#call, reporter: silenced(this.#call.reporter) }, whole, (source) =>
      findSilences(source, watched, instantAt(now) as Instant),
    );
    const silences = await ask.catch((error: Error) => {
      this.#call.context.signal.throwIfAborted();
      this.#call.reporter.trace(`silences are looked for again later: ${error.message}`);
      return undefined;
    });
    for (const [{ key }, silence] of silences ?? []) rows.setSilence(key, silence);
  }
}

function filtersOfRow(
  filters: EventFilters,
  by: readonly FieldPath[],
  [value]: readonly unknown[],
): EventFilters | undefined {
  const [field] = by;
  if (by.length !== 1 || typeof value !== 'string') return undefined;
  if (areSubscriptions(by)) return filters.withSubscriptions([value]);
  return field?.text === 'eventType' && !value.includes('*')
    ? filters.withTypes([value], [value])
    : undefined;
}

/** A reason cut inside a character would be a parse error for jq and receivers. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function nameOf(
  { change, key }: Pick<RowChange, 'change' | 'key'>,
  { subscriptionId, name }: ChangeSubject,
): string {
  return `${change} of ${name ?? subscriptionId ?? key.replaceAll('\n', ', ')}`;
}

function commandSubject(change: RowChange, subject: ChangeSubject, text: string) {
  const { subscriptionId, name } = subject;
  const variable = (value: string | null | undefined) => variableText(value ?? undefined);
  return {
    name: nameOf(change, subject),
    input: Buffer.from(text),
    variables: {
      HOOKTRAIL_CHANGE: change.change,
      HOOKTRAIL_SUBSCRIPTION_ID: variable(subscriptionId),
      HOOKTRAIL_SUBSCRIPTION_NAME: variable(name),
    },
  };
}

/** Throws `UsageError` that names the change, which the next run reports again. */
function jqShape(
  program: string,
  { context, reporter }: Call,
): (json: string, name: string) => Promise<string> {
  let printed: Buffer[] = [];
  const { columns, rows, colorDepth } = context.stdout;
  const captured: Output = {
    isTerminal: false,
    columns,
    rows,
    colorDepth,
    stream: () => context.stdout.stream(),
    write: async (chunk) => void printed.push(Buffer.from(chunk)),
  };
  const writer = createJqWriter(
    { program, fields: undefined, zone: UTC, perItem: true },
    { ...context, stdout: captured },
    reporter,
  );
  return async (json, name) => {
    printed = [];
    try {
      await (await writer).write(Items.of([Buffer.from(json)]));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(`--jq: the program failed on ${name}`, {
        details: [error.message, ...error.details],
        next: 'without --state, --ndjson in place of --jq and the command prints what the program gets',
        cause: error,
      });
    }
    return Buffer.concat(printed).toString().replace(/\n$/, '');
  };
}
