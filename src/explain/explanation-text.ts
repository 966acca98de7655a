import { hooktrail } from '../advice.ts';
import { conditionTexts, printSummary, type SummaryCall, type SummaryOptions } from '../formats/summary.ts';
import {
  anyText,
  isOpen,
  isPast,
  nothingText,
  proseLines,
  secondText,
  windowText,
} from '../formats/summary-words.ts';
import { oneLine, type Table, type TableLook, tableLines } from '../formats/table.ts';
import { OR_EARLIER } from '../formats/table-columns.ts';
import { GAP } from '../formats/table-layout.ts';
import { isNumberOrLiteral } from '../items/exact-numbers.ts';
import { LONGEST_VALUE_BYTES } from '../sample/sample-field.ts';
import { type Count, isNamed } from '../statistics/chance.ts';
import { cellWidth, cutToWidth } from '../terminal/cell-width.ts';
import { eventsText, grouped, percent, shortened } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Baseline, BaselineCounts } from './baseline.ts';
import { searchCommand, wideCommand } from './cause-commands.ts';
import type { CauseCondition } from './cause-conditions.ts';
import { MAX_CAUSES } from './cause-search.ts';
import type { Cause, Effect } from './exact-counts.ts';
import { type Explained, subscriptionsIn } from './explain.ts';
import { explanationJson } from './explanation-json.ts';

export interface ExplanationOptions extends SummaryOptions {
  readonly baseline: Baseline | undefined;
}

export async function printExplanation(
  explained: Explained,
  options: ExplanationOptions,
  call: SummaryCall,
): Promise<void> {
  const { filters, from } = options;
  const run = from === undefined ? call.reporter.runFlags : {};
  const commandOf = (cause?: Cause) => searchCommand(cause, explained, filters, from).textFor(run);
  const wide = explained.failed === explained.events ? wideCommand(filters, from) : undefined;
  const endpoint = from === undefined ? subscriptionToCheck(explained) : undefined;
  const check = endpoint === undefined ? undefined : hooktrail('subscriptions check', endpoint);
  const searches = explained.causes.map((cause, index) => ({
    command: commandOf(cause),
    note: explained.causes.length > 1 ? `cause ${index + 1}` : '',
  }));
  const next = [
    ...(searches.length > 0 ? searches : [{ command: commandOf(), note: '' }]),
    ...(wide ? [{ command: wide.textFor(run), note: 'compared with the other events' }] : []),
    ...(check ? [{ command: check.textFor(run), note: 'its endpoint, from this machine' }] : []),
  ];
  const isOver = isPast(options, explained.before, call.context.clock.now());
  const rows = causeRows(explained, filters.zone, isOver);
  const title = headline(explained, options);
  const summary = {
    json: explanationJson(explained, commandOf),
    table: causesTable(rows),
    facts: [title, ...explanationFacts(explained), ...conditionTexts(filters)],
    window: explained,
    lines: (look: TableLook) => explanationLines(explained, title, rows, next, look),
  };
  await printSummary(summary, options, call);
}

interface NextStep {
  readonly command: string;
  readonly note: string;
}

interface Note {
  readonly text: string;
  /** The beginning of the text, if it reports a failure that goes on. */
  readonly bad?: string | undefined;
}

export interface CauseRow {
  readonly conditions: readonly string[];
  readonly ids: readonly string[];
  readonly same: readonly string[];
  readonly notes: readonly Note[];
  readonly figures: readonly string[];
}

const CAUSE_TITLE = 'what failed events have';
export const FIGURE_TITLES = ['of failures', 'of delivered', 'fail with it', 'without it'];

export function causeRows(explained: Explained, zone: TimeZone, isOver: boolean): CauseRow[] {
  const { failed, events, baseline, names } = explained;
  const delivered = events - failed;
  return explained.causes.map((cause, index) => {
    const addressed = cause.conditions.filter((condition) => addressIn(condition, names) !== undefined);
    const same = conditionLines(cause.same, zone);
    const { failedWithout, eventsWithout } = cause;
    const rate = eventsWithout === 0 ? '' : ` (${percent(failedWithout / eventsWithout)})`;
    return {
      conditions: conditionLines(cause.conditions, zone, names),
      ids: conditionLines(addressed, zone),
      same,
      notes: [
        timesNote(cause, zone, isOver),
        ...sharedNote(cause, explained),
        ...(baseline ? [thenNote(baseline, index)] : []),
      ],
      figures: [
        wholePercent(cause.failed / failed),
        delivered === 0 ? '-' : wholePercent((cause.events - cause.failed) / delivered),
        `${grouped(cause.failed)} of ${grouped(cause.events)}`,
        `${grouped(failedWithout)} of ${grouped(eventsWithout)}${rate}`,
      ],
    };
  });
}

/** Prefers a subscription that still fails. Undefined if the service does not know its address. */
function subscriptionToCheck({ causes, names }: Pick<Explained, 'causes' | 'names'>): string | undefined {
  const failing = causes.filter(({ failingSince }) => failingSince);
  return [...subscriptionsIn(failing), ...subscriptionsIn(causes)].find(
    (id) => names?.nameOf(id) !== undefined,
  );
}

function sameText(others: readonly string[]): string[] {
  return others.length === 0 ? [] : [`the same events: ${someOf(others)}`];
}

function sharedNote({ subscriptions, conditions }: Cause, { subscriptions: all }: Explained): Note[] {
  const isOfOne = conditions.some(({ field, op }) => field === 'subscriptionId' && op === '=');
  if (subscriptions === 0 || all < 2 || isOfOne) return [];
  return [{ text: `in ${grouped(subscriptions)} of ${grouped(all)} subscriptions` }];
}

function thenNote(baseline: BaselineCounts, index: number): Note {
  const { events, failed } = baseline.ofCauses[index] as Count;
  if (events === 0) return { text: 'no such events then' };
  const count = `${grouped(failed)} of ${grouped(events)} failed then`;
  if (failed === 0) return { text: `new: ${count}` };
  return { text: isNamed({ events, failed }, baseline) ? `also then: ${count}` : count };
}

/** The subscription's address if it has one: `hooks.example.com/in, off`. */
function addressIn({ field, op, value }: CauseCondition, names: Explained['names']): string | undefined {
  const isOfOne = field === 'subscriptionId' && op === '=' && typeof value === 'string';
  const label = isOfOne ? names?.labelOf(value) : undefined;
  return label === undefined ? undefined : oneLine(label);
}

export function explanationFacts(explained: Explained): string[] {
  const { causes, failed, events, unexplained, onlyInFailures } = explained;
  const named = new Set(
    causes.flatMap(({ conditions, same }) => [...conditions, ...same].map(({ text }) => text)),
  );
  const effects = onlyInFailures.filter(({ text }) => !named.has(text));
  const isAll = failed === events;
  const nothing = isAll ? NO_CONTRAST : nothingStandsOut(effects);
  const isExact = (effect: Effect) => (isAll ? effect.failed === failed : effect.delivered === 0);
  const listed = (who: string, some: readonly Effect[]) =>
    some.length > 0 ? [`${who} have: ${someOf(some.map(effectText))}`] : [];
  const have = unexplained === 1 ? 'failure has' : 'failures have';
  const none =
    causes.length < MAX_CAUSES
      ? 'no cause in common with others'
      : `none of these ${MAX_CAUSES} causes, the maximum; a shorter time may show others`;
  return [
    ...(failed > 0 && causes.length === 0 ? [nothing] : []),
    ...(causes.length > 1 ? ['events of a cause are not counted in the causes below it'] : []),
    ...(causes.length > 0 && unexplained > 0 ? [`${grouped(unexplained)} ${have} ${none}`] : []),
    ...listed(isAll ? 'all of them' : 'only failures', effects.filter(isExact)),
    ...listed(
      isAll ? 'some of them' : 'failures and some delivered events',
      effects.filter((effect) => !isExact(effect)),
    ),
  ];
}

const NO_CONTRAST = 'all of them failed: there is no delivered event to compare them with';
const NOTHING_ELSE =
  'nothing stands out except consequences of failing: one of these may be the cause if it was known before the delivery';
const NOTHING =
  'nothing stands out: no value, field, limit or time is more frequent among the failed events than chance explains';

function nothingStandsOut(effects: readonly Effect[]): string {
  return effects.length === 0 ? NOTHING : NOTHING_ELSE;
}

function causesTable(rows: readonly CauseRow[]): Table {
  return {
    heads: [CAUSE_TITLE, ...FIGURE_TITLES, 'times'].map((title) => ({
      title,
      kind: FIGURE_TITLES.includes(title) ? 'number' : 'text',
    })),
    rows: rows.map(({ conditions, ids, same, notes, figures }) => [
      conditions.join(' and '),
      ...figures,
      [...ids, ...sameText(same), ...notes.map(({ text }) => text)].join('; '),
    ]),
  };
}

function explanationLines(
  explained: Explained,
  title: string,
  rows: readonly CauseRow[],
  next: readonly NextStep[],
  look: TableLook,
): string[] {
  const { palette } = look;
  const prose = (text: string) => proseLines(text, look);
  const lines = prose(title).map(palette.bold);
  if (explained.failed === 0) return lines;
  const facts = [
    ...explanationFacts(explained).flatMap(prose),
    ...uncomparedTexts(explained).flatMap(prose).map(palette.dim),
    ...next.map(({ command, note }) => {
      const comment = note === '' ? '' : palette.dim(`  # ${note}`);
      return `${palette.accent('next:')} ${oneLine(command)}${comment}`;
    }),
  ];
  if (rows.length > 0) lines.push('', ...causeLines(rows, look));
  return [...lines, '', ...facts];
}

function uncomparedTexts(explained: Explained): string[] {
  const { failed, events, onlyInFailures, notCompared, comparedWhereShort, notLookedAt } = explained;
  // The values of effects are printed already.
  const isEffect = (name: string) => onlyInFailures.some(({ field }) => field === name);
  const fields = failed === events ? [] : notCompared.filter((name) => !isEffect(name));
  const different = fields.filter((name) => !comparedWhereShort.includes(name));
  const tooLong = fields.filter((name) => comparedWhereShort.includes(name));
  const listed = (names: readonly string[]) => someOf(names.map(oneLine));
  return [
    ...(different.length > 0 ? [`not compared, different in nearly every event: ${listed(different)}`] : []),
    ...(tooLong.length > 0
      ? [`not compared where longer than ${LONGEST_VALUE_BYTES} bytes: ${listed(tooLong)}`]
      : []),
    ...(notLookedAt.length > 0
      ? [`too many to compare completely: ${listed(notLookedAt)}; fewer with --type or a shorter time`]
      : []),
  ];
}

/** `27 of 246 events failed (11.0 %) since 2026-11-22 00:00Z`, and the baseline. */
function headline(explained: Explained, options: ExplanationOptions): string {
  const { events, failed, baseline } = explained;
  const time = windowText(explained, options);
  const now = events === 0 ? nothingText(explained, time) : `${failedOf(events, failed)} ${time}`;
  if (!baseline || !options.baseline) return now;
  return `${now}; ${baselineText(baseline, options.baseline, isOpen(options))}`;
}

/** `a week earlier: 3 of 240 (1.3 %)`; `isNow`: the time explained ends now. */
export function baselineText({ events, failed }: Count, baseline: Baseline, isNow: boolean): string {
  const names = {
    previous: 'as long before',
    '1d': isNow ? 'the same hours yesterday' : 'a day earlier',
    '7d': 'a week earlier',
  };
  const then =
    events === 0 ? 'no events' : `${grouped(failed)} of ${grouped(events)} (${percent(failed / events)})`;
  return `${names[baseline]}: ${then}`;
}

function failedOf(events: number, failed: number): string {
  if (failed === 0) return `none of ${eventsText(events)} failed`;
  return `${grouped(failed)} of ${eventsText(events)} failed (${percent(failed / events)})`;
}

/** Prints the figures next to the first condition or below it, then the other conditions and the notes. */
function causeLines(rows: readonly CauseRow[], look: TableLook): string[] {
  const { palette, room } = look;
  const widths = FIGURE_TITLES.map((title, index) =>
    Math.max(...[title, ...rows.map(({ figures }) => figures[index] as string)].map(cellWidth)),
  );
  const figuresWidth = widths.reduce((sum, width) => sum + width + GAP, 0);
  const heads = [CAUSE_TITLE, ...rows.map(({ conditions }) => conditions[0] as string)];
  // Conditions too wide for the figures go on a line above them.
  const isWide = room === undefined || Math.max(...heads.map(cellWidth)) + figuresWidth <= room;
  const table: Table = {
    heads: [
      { title: isWide ? CAUSE_TITLE : '', kind: 'text' },
      ...FIGURE_TITLES.map((title, index) => ({ title, kind: 'number' as const, spare: index < 2 ? 1 : 0 })),
    ],
    rows: rows.map(({ conditions, figures }) => [isWide ? (conditions[0] as string) : '', ...figures]),
  };
  const [titles = '', ...figures] = tableLines(table, { ...look, hasHeader: true });
  const cut = (text: string) => (room === undefined ? text : cutToWidth(text, Math.max(room, 80)));
  const lines = rows.flatMap(({ conditions: [first = '', ...others], ids, same, notes }, index) => [
    ...(index > 0 ? [''] : []),
    ...(isWide ? [] : [cut(first)]),
    figures[index] as string,
    ...others.map((text) => cut(`  and ${text}`)),
    ...[...ids, ...sameText(same)].flatMap((text) => proseLines(text, look, INDENT).map(palette.dim)),
    ...notes.flatMap((note) => noteLines(note, look)),
  ]);
  const head = isWide ? [titles] : [palette.bold(CAUSE_TITLE), titles];
  return [...(look.hasHeader === false ? [] : head), ...lines];
}

const INDENT = '  ';

function noteLines({ text, bad }: Note, look: TableLook): string[] {
  const lines = proseLines(text, look, INDENT);
  if (bad === undefined) return lines;
  const [first = '', ...others] = lines;
  const end = INDENT.length + bad.length;
  return [INDENT + look.palette.bad(first.slice(INDENT.length, end)) + first.slice(end), ...others];
}

/** Only exact values are shown as 0 % or 100 %. */
function wholePercent(share: number): string {
  if (share > 0 && share < 0.005) return '<1 %';
  if (share < 1 && share >= 0.995) return '>99 %';
  return `${Math.round(100 * share)} %`;
}

/** Shows subscriptions by address, and both bounds of a span as one condition. */
export function conditionLines(
  conditions: readonly CauseCondition[],
  zone: TimeZone,
  names?: Explained['names'],
): string[] {
  const [from, to] = (['>=', '<='] as const).map(
    (op) => conditions.find((condition) => condition.field === 'createdOn' && condition.op === op)?.value,
  );
  const fields = conditions
    .filter(({ field }) => field !== 'createdOn')
    .map((condition) => addressIn(condition, names) ?? conditionWords(condition));
  const shown = (value: unknown) => secondText(value as string, zone);
  if (from !== undefined && to !== undefined) fields.push(`created from ${shown(from)} to ${shown(to)}`);
  else if (from !== undefined) fields.push(`created since ${shown(from)}`);
  else if (to !== undefined) fields.push(`created until ${shown(to)}`);
  return fields;
}

function conditionWords({ field, op, value }: CauseCondition): string {
  if (op === 'exists') return oneLine(`${field} exists`);
  if (op === 'missing') return oneLine(`${field} is missing`);
  // Quotes a string that looks like another kind of value.
  const isPlain = typeof value === 'string' && value !== '' && !isNumberOrLiteral(value);
  return oneLine(`${field} ${op} ${isPlain ? value : JSON.stringify(value)}`);
}

function timesNote(cause: Cause, zone: TimeZone, isOver: boolean): Note {
  const { failed, events, firstFailed, lastFailed, lastSuccess, failingSince } = cause;
  const shown = ({ text }: Instant) => secondText(text, zone);
  const isOfAll = cause.conditions.every(({ field }) => field === 'createdOn');
  const what = isOfAll ? 'no success of any subscription or type' : 'no success';
  const none = failed === events ? `${what} in this time` : 'the last success is unknown';
  const success = lastSuccess ? `last success ${shown(lastSuccess)}` : none;
  if (!firstFailed || !lastFailed) return { text: success };
  const isBroken = failingSince && compareInstants(firstFailed, failingSince) < 0;
  const earlier = cause.edge ? OR_EARLIER : '';
  const first = isBroken ? `, first failure ${shown(firstFailed)}${earlier}` : '';
  if (failingSince) {
    const start = `${shown(failingSince)}${cause.isSinceAtEdge ? OR_EARLIER : ''}`;
    const bad = isOver ? `was failing at the end, from ${start} on` : `failing since ${start}`;
    return { text: `${bad}, ${success}${first}`, bad };
  }
  const hasRecovered = lastSuccess && compareInstants(lastSuccess, lastFailed) > 0;
  const span = `first failure ${shown(firstFailed)}${earlier}, last failure ${shown(lastFailed)}`;
  return { text: hasRecovered ? `${span}, ${success}` : span };
}

/** `delivery.lastError (503 Service Unavailable 20, …)`, `delivery.attempts = 5`. */
function effectText(effect: Effect): string {
  const { field, failed, values } = effect;
  const [only, another] = values;
  if (values.length === 0) return effect.op === 'exists' ? oneLine(field) : conditionWords(effect);
  if (typeof only?.value === 'number' && !another && only.failed === failed)
    return conditionWords({ ...effect, op: '=', value: only.value });
  const texts = values
    .slice(0, 3)
    .map(({ value, failed }) => `${shortened(anyText(value), LONGEST_VALUE_CHARACTERS)} ${grouped(failed)}`);
  return oneLine(`${field} (${texts.join(', ')}${values.length > 3 ? ', …' : ''})`);
}

/** Longer values are cut. */
const LONGEST_VALUE_CHARACTERS = 60;

/** Maximum items listed; the rest are counted. */
const MAX_NAMED = 6;

export function someOf(texts: readonly string[]): string {
  const rest = texts.length - MAX_NAMED;
  return [...texts.slice(0, MAX_NAMED), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}
