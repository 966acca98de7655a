import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { HooktrailError, NotSignedInError, ServiceError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { memberPath } from '../items/field-path.ts';
import { guidsIn } from '../items/guids.ts';
import type { Items } from '../items/items.ts';
import { createCursor } from '../items/known-fields.ts';
import { comparableForm } from '../items/value-texts.ts';
import { findField, wordMatcher } from '../items/whole-words.ts';
import { createWhoReader, namesText } from '../names/who.ts';
import { settingNames } from '../settings/setting-names.ts';
import { loadRunSettings, readConfig } from '../settings/settings.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import { type SourceOptions, withEventSource } from '../sources/event-source.ts';
import { type Instant, instantAt, parseInstant } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import { parseTime } from '../time/time-text.ts';

export interface LookOptions extends SourceOptions {
  readonly text: string;
  readonly limit: number | undefined;
  readonly allProfiles: boolean | undefined;
}

/** The columns of a found event, in the order of its CSV. */
export const SHOWN_FIELDS = ['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'] as const;

export interface EventWithText {
  readonly profile: string | null;
  /** The first field with the text, in the syntax of `--where`. */
  readonly field: string;
  readonly item: Buffer;
  readonly createdOn: Instant | undefined;
  readonly shown: Readonly<Partial<Record<(typeof SHOWN_FIELDS)[number], string>>>;
  readonly who: string | undefined;
  readonly address: string | undefined;
}

export interface FindReport {
  readonly text: string;
  /** Newest first; at most the limit. */
  readonly found: readonly EventWithText[];
  /** Events with the text, including those beyond the limit. */
  readonly matches: number;
  readonly events: number;
  readonly profiles: readonly string[];
  /** The time span searched; undefined for all stored events. */
  readonly window: { readonly after: Instant; readonly before: Instant } | undefined;
  readonly failure: HooktrailError | undefined;
}

const DAYS = 7;
type FindCall = Pick<Call, 'flags' | 'settings' | 'context' | 'reporter'>;

export async function findEverywhere(call: FindCall, options: LookOptions): Promise<FindReport> {
  const { context, flags } = call;
  if (!options.allProfiles) {
    const place = options.from === undefined ? call.settings.chosen.profile : null;
    return await findInPlace(call, options, place);
  }
  const { signedInProfiles } = await import('../sign-in/sign-in-state.ts');
  const profiles = [...(await signedInProfiles(await readConfig(context), context))].sort();
  if (profiles.length === 0)
    throw new NotSignedInError('no profile is signed in', { next: advise`run ${hooktrail('login')}` });
  const ofProfiles = { ...context, environment: withoutAddresses(context.environment) };
  const reports: FindReport[] = [];
  const failures: { readonly profile: string; readonly error: HooktrailError }[] = [];
  // One after the other: each may ask for a passphrase.
  for (const profile of profiles) {
    const settings = await loadRunSettings({ ...flags, profile }, ofProfiles);
    try {
      reports.push(await findInPlace({ ...call, settings, context: ofProfiles }, options, profile));
    } catch (error) {
      if (!(error instanceof HooktrailError) || context.signal.aborted) throw error;
      failures.push({ profile, error });
    }
  }
  const [first] = failures;
  if (first && reports.length === 0 && failures.length === 1) throw first.error;
  return merged(reports, options, failureOf(failures));
}

function merged(
  reports: readonly FindReport[],
  { text, limit = Number.POSITIVE_INFINITY }: LookOptions,
  failure: HooktrailError | undefined,
): FindReport {
  const found = sortByCreation(
    reports.flatMap((report) => report.found),
    'newest first',
  ).slice(0, limit);
  const events = reports.reduce((sum, report) => sum + report.events, 0);
  const matches = reports.reduce((sum, report) => sum + report.matches, 0);
  const profiles = reports.flatMap((report) => report.profiles);
  return { text, found, matches, events, profiles, window: reports[0]?.window, failure };
}

function failureOf(
  failures: readonly { readonly profile: string; readonly error: HooktrailError }[],
): HooktrailError | undefined {
  const [first] = failures;
  if (!first) return undefined;
  const names = failures.map(({ profile }) => profile).join(', ');
  return new ServiceError(`not looked in, since that failed: ${names}`, {
    details: failures.map(({ profile, error }) => `${profile}: ${error.message}`),
    next: advise`what was found elsewhere is complete; ${hooktrail('status --check --profile', first.profile)} says more`,
  });
}

/** Removes variables that would give every profile the same address or token. */
function withoutAddresses(environment: Context['environment']): Context['environment'] {
  const ofOne = [
    ...(['authUrl', 'baseUrl', 'clientId', 'vendor'] as const).map((name) => settingNames[name].variable),
    ...['', '_FILE', '_COMMAND'].map((source) => `HOOKTRAIL_ACCESS_TOKEN${source}`),
  ];
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ofOne.includes(name)));
}

async function findInPlace(
  call: FindCall,
  options: LookOptions,
  profile: string | null,
): Promise<FindReport> {
  const { text, limit = Number.POSITIVE_INFINITY, from, filters, concurrency } = options;
  const chosen = from === undefined ? withWeek(filters, call.context.clock.now()) : filters;
  const { nameField } = filters;
  return await withEventSource(call, { from, filters: chosen, concurrency }, async (source) => {
    const names = source.service?.askNames();
    const look = lookFor(text);
    const known = createCursor(SHOWN_FIELDS.map(memberPath));
    const whoOf = createWhoReader(nameField);
    let kept: (Omit<EventWithText, 'who' | 'address'> & { readonly of: ReturnType<typeof whoOf> })[] = [];
    let events = 0;
    let matches = 0;
    for await (const { items } of source.read(source.filters, source.window)) {
      events += items.count;
      for (let item = 0; item < items.count; item++) {
        const field = look(items, item);
        if (field === undefined) continue;
        matches++;
        known.read(items.bytes, items.start(item));
        const shown: EventWithText['shown'] = Object.fromEntries(
          SHOWN_FIELDS.map((name, index) => [name, known.text(index)]),
        );
        const createdOn = parseInstant(shown.createdOn ?? '');
        const of = whoOf(items.bytes, items.start(item));
        // Copy the event, which would otherwise keep a whole page in memory.
        kept.push({ profile, field, item: Buffer.from(items.text(item)), createdOn, shown, of });
      }
      if (kept.length > 2 * limit) kept = sortByCreation(kept, 'newest first').slice(0, limit);
    }
    const newest = sortByCreation(kept, 'newest first').slice(0, limit);
    await names?.learn(newest.flatMap(({ of }) => of.subscriptionId ?? []));
    const addressOf = (id: string | undefined) => (id === undefined ? undefined : names?.labelOf(id));
    const found = newest.map(({ of, ...one }) => ({
      ...one,
      who: namesText(of),
      address: addressOf(of.subscriptionId),
    }));
    const { window } = source;
    const profiles = profile === null ? [] : [profile];
    return { text, found, matches, events, profiles, window, failure: undefined };
  });
}

function withWeek(filters: EventFilters, now: number): EventFilters {
  if (filters.after) return filters;
  const given = (text: string) => ({ flag: '--since', text, time: parseTime(text) });
  const before = filters.before && filters.withSubscriptions([]).queries(now)[0].before;
  const instant = before && instantAt(before.seconds * 1000 - DAYS * DAY_MS);
  const after = given(instant ? instant.text : `${DAYS}d`);
  return new EventFilters({ ...filters, after: after as NonNullable<EventFilters['after']> });
}

function lookFor(text: string): (items: Items, item: number) => string | undefined {
  // Search for a GUID in the form used in events, even if typed with braces, quotes or without dashes.
  const [guid, another] = guidsIn(text);
  const word = guid !== undefined && another === undefined && isWrapped(text, guid) ? guid : text;
  const holds = wordMatcher(word);
  const formOf = comparableForm(word);
  const form = formOf(word);
  return (items, item) => {
    const [start, end] = [items.start(item), items.end(item)];
    const json = items.bytes.toString('utf8', start, end);
    // Without escapes, the item's JSON text contains the text of all its values.
    if (!json.includes('\\') && !formOf(json).includes(form)) return undefined;
    return findField(items.bytes, start, end, holds);
  };
}

/** True if the text is a GUID and at most two copied characters around it. */
function isWrapped(text: string, guid: string): boolean {
  return text.replaceAll('-', '').length - guid.replaceAll('-', '').length <= 2;
}
