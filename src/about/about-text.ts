import { conditionLines } from '../explain/explanation-text.ts';
import {
  conditionTexts,
  printSummary,
  type SummaryCall,
  type SummaryLook,
  type SummaryOptions,
} from '../formats/summary.ts';
import {
  boundText,
  isPast,
  lengthText,
  percentilesText,
  proseLines,
  rhythmText,
  toSeconds,
  windowText,
} from '../formats/summary-words.ts';
import { oneLine, type Table } from '../formats/table.ts';
import { OR_EARLIER } from '../formats/table-columns.ts';
import { recentMarks } from '../health/health-text.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { eventsText, grouped, percent } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, milliseconds } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { About } from './about.ts';
import { aboutCsv, aboutJson } from './about-json.ts';
import type { NameHealth } from './about-questions.ts';
import { MAX_SUBSCRIPTIONS, nextCommands } from './next-commands.ts';

interface Fact {
  readonly label: string;
  readonly text: string;
  readonly isBad?: boolean;
}

/** Maximum causes shown. */
const MAX_CAUSES = 3;
/** Maximum names shown. */
const MAX_NAMES = 5;
const LABEL_COLUMNS = 15;

/** Markdown is a text for a ticket. */
export async function printAbout(about: About, options: SummaryOptions, call: SummaryCall): Promise<void> {
  const { filters, from } = options;
  const tense = tenseOf(isPast(options, about.before, call.context.clock.now()));
  const facts = factsOf(about, options, takesUnicode(call.context), tense);
  const run = from === undefined ? call.reporter.runFlags : {};
  const next = nextCommands(about, options).map((command) => command.textFor(run));
  const json = aboutJson(about, next);
  const title = titleOf(about);
  const window = windowText(about, options);
  const table: Table = {
    heads: [
      { title, kind: 'text' },
      { title: window, kind: 'text' },
    ],
    rows: [...facts.map(({ label, text }) => [label, text]), ...next.map((command) => ['next', command])],
  };
  await printSummary(
    {
      json,
      ndjson: [json],
      csv: (guarded) => aboutCsv(json, guarded),
      table,
      facts: [title, ...conditionTexts(filters)],
      window: about,
      lines: (look) => pageLines(title, window, facts, next, look),
    },
    options,
    call,
  );
}

function pageLines(
  title: string,
  window: string,
  facts: readonly Fact[],
  next: readonly string[],
  look: SummaryLook,
): string[] {
  const { bold, bad, dim } = look.palette;
  const lines = facts.flatMap(({ label, text, isBad }) => {
    const width = look.room === undefined ? look : { ...look, room: Math.max(20, look.room - LABEL_COLUMNS) };
    return proseLines(text, width).map(
      (line, index) => (index === 0 ? label : '').padEnd(LABEL_COLUMNS) + (isBad ? bad(line) : line),
    );
  });
  return [
    ...proseLines(title, look).map(bold),
    ...proseLines(window, look).map(dim),
    '',
    ...lines,
    '',
    ...next.map((command) => `next: ${oneLine(command)}`),
  ];
}

function titleOf(about: About): string {
  const { word, by, name, address, endpoint, subscriptionIds, health, outage } = about;
  const isNowhere = by === 'name' && health.events === 0 && outage === undefined;
  if (isNowhere) return `'${word}', which no event has in the name-field`;
  const [id, ...others] = subscriptionIds;
  const ids = others.length > 0 ? `${subscriptionIds.length} subscriptions` : id;
  const known = [name, address].filter((text) => text !== null);
  const who = known.length > 0 ? `${known.join(', ')} (${ids ?? 'no events'})` : (ids ?? word);
  const found = {
    id: 'by its id',
    address: `by '${word}' in its address`,
    name: `by '${word}' in the name-field`,
  };
  const states = { on: ', switched on', off: ', switched off', gone: ', gone' };
  return `${who}, found ${found[by]}${endpoint === null ? '' : states[endpoint]}`;
}

function tenseOf(isOver: boolean) {
  return isOver
    ? {
        isOver,
        failing: 'was failing at the end of this time',
        recovered: 'had recovered',
        silent: 'was silent for unusually long',
        ok: 'was ok',
        continues: 'not over by the end of this time',
        stillFailing: (count: string, _isOne: boolean) => `${count} of them until the end of this time`,
      }
    : {
        isOver,
        failing: 'failing',
        recovered: 'recovered',
        silent: 'silent for unusually long',
        ok: 'ok',
        continues: 'goes on',
        stillFailing: (count: string, isOne: boolean) => `${count} of them still ${isOne ? 'does' : 'do'}`,
      };
}

type Tense = ReturnType<typeof tenseOf>;

function factsOf(
  about: About,
  { filters: { zone } }: SummaryOptions,
  unicode: boolean,
  tense: Tense,
): Fact[] {
  const { health, earlier, outage, latency, causes } = about;
  const time = (instant: Instant) => zone.shown(toSeconds(instant)).replace('T', ' ');
  const { failed, events } = health;
  const rate = events === 0 ? '' : ` (${percent(failed / events)})`;
  const counts = `${grouped(failed)} of ${grouped(events)} failed${rate}, ${grouped(events - failed)} delivered`;
  const then =
    earlier && `; ${grouped(earlier.failed)} of ${grouped(earlier.events)} in the same time before`;
  const { lastFailed } = health;
  // Put the decisive facts on the first screen, since causes may take many lines.
  const facts: (Fact | undefined)[] = [
    { label: 'state', text: stateText(about, zone, tense), isBad: isBadState(health.state) },
    { label: 'events', text: `${counts}${then ?? ''}` },
    ...nameFacts(about, time, tense),
    ...subscriptionFacts(about, time, tense),
    health.silentSince && { label: 'silent', text: silentText(about, health.silentSince, time), isBad: true },
    outage && { label: 'outage', text: outageText(about, outage, zone, tense) },
    ...largestFacts(about, zone, tense),
    lastFailed && { label: 'last failure', text: time(lastFailed) },
    health.lastError === undefined ? undefined : { label: 'reason', text: health.lastError },
    health.lastSuccess && { label: 'last success', text: time(health.lastSuccess) },
    failed > 0 ? { label: 'shared', text: sharedText(about, tense) } : undefined,
    latency && {
      label: 'latency',
      text: `${percentilesText(latency.percentiles)} (${latency.field}, ${eventsText(latency.percentiles.count)})`,
    },
    health.recent === '' ? undefined : { label: 'last ten', text: recentMarks(health.recent, unicode) },
    ...causes.slice(0, MAX_CAUSES).map((cause) => ({
      label: 'cause here',
      text: `${conditionLines(cause.conditions, zone).join(' and ')}: ${grouped(cause.failed)} of ${grouped(cause.events)} failed`,
    })),
  ];
  return facts.filter((fact) => fact !== undefined);
}

/** Worst first; only if the word matches several names. */
function nameFacts({ ofNames }: About, time: (instant: Instant) => string, tense: Tense): Fact[] {
  if (ofNames.length < 2) return [];
  const facts = ofNames
    .slice(0, MAX_NAMES)
    .map(({ name, ...health }) => partFact('name', name, health, time, tense));
  const more = ofNames.length - facts.length;
  return more > 0
    ? [...facts, { label: 'name', text: `${grouped(more)} more: give more of the name` }]
    : facts;
}

/** Worst first; only if there are several. */
function subscriptionFacts(
  { ofSubscriptions }: About,
  time: (instant: Instant) => string,
  tense: Tense,
): Fact[] {
  if (ofSubscriptions.length < 2) return [];
  const shown = ofSubscriptions.slice(0, MAX_SUBSCRIPTIONS);
  return shown.map(({ id, ...health }) => partFact('subscription', id, health, time, tense));
}

function partFact(
  label: string,
  name: string,
  { state, failed, events, failingSince, edge }: Omit<NameHealth, 'name'>,
  time: (instant: Instant) => string,
  tense: Tense,
): Fact {
  const start = failingSince && `${time(failingSince)}${edge ? OR_EARLIER : ''}`;
  const since = start === undefined ? '' : ` ${tense.isOver ? 'at the end, from' : 'since'} ${start}`;
  const counts = `${grouped(failed)} of ${grouped(events)} failed`;
  const was = tense.isOver ? 'was ' : '';
  return { label, text: `${name}: ${was}${state}${since}, ${counts}`, isBad: state === 'failing' };
}

/** `since 2026-11-20 08:00:00Z, for 15 h 20 min; usually one every 40 min at these hours`. */
function silentText(
  { before, health: { usualGapSeconds = 0 } }: About,
  since: Instant,
  time: (instant: Instant) => string,
): string {
  const length = lengthText(milliseconds(before) - milliseconds(since));
  return `since ${time(since)}, for ${length}; usually one every ${rhythmText(1000 * usualGapSeconds)} at these hours`;
}

function isBadState(state: About['health']['state']): boolean {
  return state === 'failing' || state === 'off' || state === 'gone';
}

const ENDPOINTS = {
  off: 'off: the subscription is switched off, so the service sends it nothing',
  gone: 'gone: the service no longer knows the subscription',
} as const;

function stateText({ health, outage }: About, zone: TimeZone, tense: Tense): string {
  const { state, failingSince, edge, events, silentSince } = health;
  if (state === 'off' || state === 'gone') return ENDPOINTS[state];
  if (silentSince && state !== 'failing') return tense.silent;
  if (events === 0) return 'no events in this time';
  if (state !== 'failing') return state === 'recovered' ? tense.recovered : tense.ok;
  // The outage may have begun before the window.
  const isOutage = outage !== undefined && outage.until === undefined;
  const since = isOutage ? outage.since : failingSince;
  const earlier = (isOutage ? outage.edge : edge) ? OR_EARLIER : '';
  if (!since) return tense.failing;
  const start = `${zone.shown(toSeconds(since)).replace('T', ' ')}${earlier}`;
  return tense.isOver ? `${tense.failing}, from ${start} on` : `${tense.failing} since ${start}`;
}

function outageText(
  { health }: About,
  { since, edge, until, lastFailed }: NonNullable<About['outage']>,
  zone: TimeZone,
  tense: Tense,
): string {
  const from = `from ${boundText(since, zone)}${edge ? OR_EARLIER : ''}`;
  const length = milliseconds(until ?? lastFailed) - milliseconds(since);
  if (until) return `${from} to ${boundText(until, zone)}, ${lengthText(length)}`;
  const open = health.state === 'failing' ? `${from}, ${tense.continues}` : from;
  return length === 0 ? open : `${open}, last failure after ${lengthText(length)}`;
}

/** Only if it is not the last outage. */
function largestFacts(about: About, zone: TimeZone, tense: Tense): Fact[] {
  const { outage, largestOutage: largest } = about;
  const isOther = largest && outage && compareInstants(largest.lastFailed, outage.lastFailed) !== 0;
  if (!isOther) return [];
  const failures = `${grouped(largest.failed)} failures`;
  return [{ label: 'largest', text: `${outageText(about, largest, zone, tense)}, ${failures}` }];
}

function sharedText({ others }: About, tense: Tense): string {
  const { subscriptions, withFailures, failing } = others;
  if (subscriptions === 0) return 'no other subscription has events in this time';
  if (withFailures === 0) {
    const none =
      subscriptions === 1
        ? 'the other subscription did not fail'
        : `none of the ${grouped(subscriptions)} other subscriptions failed`;
    return `${none}: ${tense.isOver ? 'it was' : 'it is'} this one's endpoint`;
  }
  return `${grouped(withFailures)} of the ${grouped(subscriptions)} other subscriptions failed too, ${tense.stillFailing(grouped(failing), failing === 1)}`;
}
