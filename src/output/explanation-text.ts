import { type Call, typedCommand } from '../command.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { type Baseline, type Explained, explanationJson, searchCommand } from '../events/explain.ts';
import type { Cause, CauseCondition, Effect } from '../events/explain-table.ts';
import { type Health, type HealthReport, healthJson } from '../events/health.ts';
import { isNumber } from '../json/item-conditions.ts';
import { completeCommands, shellWord } from '../settings/flag-values.ts';
import { cellWidth, cutToWidth, loadWidths, wrapWords } from '../terminal/cell-width.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { runFlags } from '../terminal/reporter.ts';
import { grouped, percent } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { SummaryFormat } from './format-flags.ts';
import { printJson } from './formats.ts';
import { markdownNote, markdownTable } from './markdown.ts';
import { ended, loadTableLook, oneLine, type Table, type TableLook, tableLines } from './table.ts';
import { GAP, NONE } from './table-layout.ts';

export interface ExplanationOptions
  extends Pick<SummaryFormat<'table' | 'json' | 'markdown'>, 'format' | 'jq'> {
  readonly filters: EventFilters;
  readonly from: string | undefined;
  readonly baseline: Baseline | undefined;
}

/** Prints the causes of failures in the format asked for. */
export async function printExplanation(
  explained: Explained,
  options: ExplanationOptions,
  call: Pick<Call, 'flags' | 'context' | 'reporter' | 'commands'>,
): Promise<void> {
  const { flags, context, reporter } = call;
  const { stdout, environment } = context;
  if (options.format === 'json')
    return await printJson(explanationJson(explained), options.jq, context, reporter);
  if (options.format === 'markdown')
    return await stdout.write(explanationMarkdown(explained, options, typedCommand(call)));
  await loadWidths();
  const run = options.from === undefined ? runFlags(flags, environment) : {};
  const commandOf = (cause: Cause) =>
    completeCommands(`\`${searchCommand(cause, explained, options.filters, options.from)}\``, run).slice(
      1,
      -1,
    );
  const look = await loadTableLook(stdout, reporter);
  await stdout.write(ended(explanationLines(explained, options, look, commandOf)));
}

/** A cause for people. */
export interface CauseRow {
  readonly conditions: readonly string[];
  /** The same events by other conditions, and since when. */
  readonly notes: readonly string[];
  /** One for each of `FIGURE_TITLES`. */
  readonly figures: readonly string[];
}

/** The causes as rows of a table. */
export function causeRows(explained: Explained, zone: TimeZone): CauseRow[] {
  const times = new ReadableTimes(zone, explained.before);
  return explained.causes.map((cause, index) => ({
    conditions: conditionLines(cause.conditions, times),
    notes: [
      ...(cause.same.length > 0
        ? [`the same events: ${someOf(conditionLines(cause.same, times), ', ')}`]
        : []),
      timesText(cause, times, (text) => text),
      ...(explained.baseline?.isAlsoThen[index] ? ['also then'] : []),
    ],
    figures: figuresOf(cause, explained),
  }));
}

/** The facts left to say beside the causes. */
export function explanationFacts(explained: Explained): string[] {
  const { causes, failed, events, unexplained } = explained;
  return [
    ...(failed > 0 && causes.length === 0 ? [failed === events ? NO_CONTRAST : NOTHING] : []),
    ...(causes.length > 0 && unexplained > 0 ? [unexplainedText(unexplained)] : []),
    ...effectFacts(explained),
  ];
}

/** The causes as a table for tickets. */
function explanationMarkdown(
  explained: Explained,
  { filters, from, baseline }: Pick<ExplanationOptions, 'filters' | 'from' | 'baseline'>,
  command: string,
): string {
  const times = new ReadableTimes(filters.zone, explained.before);
  const note = markdownNote({
    facts: [
      headline(explained, times, from === undefined && !filters.before, baseline),
      ...explanationFacts(explained),
      ...filters.texts().filter((text) => !/^--(since|until) /.test(text)),
    ],
    command,
  });
  if (explained.causes.length === 0) return note;
  const heads = ['what failed events have', ...FIGURE_TITLES, 'times'].map((title, index) => ({
    title,
    kind: index > 0 && index <= FIGURE_TITLES.length ? ('number' as const) : ('text' as const),
  }));
  const rows = causeRows(explained, filters.zone).map(({ conditions, notes, figures }) => [
    conditions.join(' and '),
    ...figures,
    notes.join('; '),
  ]);
  return `${markdownTable({ heads, rows })}\n${note}`;
}

const NO_CONTRAST = 'all of them failed: there is no delivered event to compare them with';
const NOTHING =
  'nothing stands out: no value, field, limit or time is so much more frequent among the failed events that chance would not explain it';

function unexplainedText(unexplained: number): string {
  return `${grouped(unexplained)} ${unexplained === 1 ? 'failure has' : 'failures have'} no cause in common with others`;
}

function effectFacts({ causes, onlyInFailures }: Explained): string[] {
  const named = new Set(causes.flatMap(({ conditions }) => conditions.map(({ text }) => text)));
  const effects = effectTexts(onlyInFailures.filter(({ text }) => !named.has(text)));
  return effects.length > 0 ? [`only failures have: ${someOf(effects, ', ')}`] : [];
}

/** Values, conditions and fields that are named in one line before the rest is counted. */
const MOST_NAMED = 6;

function explanationLines(
  explained: Explained,
  { filters, from, baseline }: Pick<ExplanationOptions, 'filters' | 'from' | 'baseline'>,
  look: TableLook,
  commandOf: (cause: Cause) => string,
): string[] {
  const { events, failed, causes, unexplained, notCompared } = explained;
  const { palette } = look;
  const clock = new ReadableTimes(filters.zone, explained.before);
  const isOpen = from === undefined && !filters.before;
  const prose = (text: string) => proseLines(text, look);
  const lines = [...prose(headline(explained, clock, isOpen, baseline)).map(palette.bold), ''];
  if (failed === 0) return lines.slice(0, -1);
  if (failed === events) return [...lines, NO_CONTRAST];
  lines.push(...(causes.length === 0 ? prose(NOTHING) : causeLines(explained, clock, look)), '');
  if (causes.length > 0 && unexplained > 0) lines.push(unexplainedText(unexplained));
  lines.push(...effectFacts(explained).flatMap(prose));
  if (notCompared.length > 0) {
    const names = someOf(notCompared.map(oneLine), ', ');
    lines.push(...prose(`not compared, different in nearly every event: ${names}`).map(palette.dim));
  }
  for (const [index, cause] of causes.entries())
    lines.push(
      `${palette.accent('next:')} ${oneLine(commandOf(cause))}${causes.length > 1 ? palette.dim(`  # cause ${index + 1}`) : ''}`,
    );
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** A text in lines that fit, each after the indent. */
function proseLines(text: string, { room }: TableLook, indent = ''): string[] {
  if (room === undefined) return [indent + text];
  return wrapWords(text, room - indent.length).map((line) => indent + line);
}

/** `27 of 246 events failed (11.0 %) since 2026-11-22 00:00Z`, and the baseline beside it. */
function headline(
  { events, failed, after, before, baseline }: Explained,
  clock: ReadableTimes,
  isOpen: boolean,
  kind: Baseline | undefined,
): string {
  const time = isOpen
    ? `since ${clock.dated(after)}`
    : `from ${clock.dated(after)} to ${clock.dated(before)}`;
  const what = events === 1 ? 'event' : 'events';
  const now =
    events === 0
      ? `no events ${time}`
      : failed === 0
        ? `none of ${grouped(events)} ${what} failed ${time}`
        : `${grouped(failed)} of ${grouped(events)} ${what} failed (${percent(failed / events)}) ${time}`;
  if (!baseline) return now;
  const names = {
    previous: 'as long before',
    '1d': isOpen ? 'the same hours yesterday' : 'a day earlier',
    '7d': 'a week earlier',
  };
  const share = baseline.events === 0 ? '' : ` (${percent(baseline.failed / baseline.events)})`;
  const then =
    baseline.events === 0
      ? 'no events'
      : `${grouped(baseline.failed)} of ${grouped(baseline.events)}${share}`;
  return `${now}; ${names[kind as Baseline]}: ${then}`;
}

export const FIGURE_TITLES = ['of failures', 'of delivered', 'fail with it', 'without it'];

function causeLines(explained: Explained, clock: ReadableTimes, look: TableLook): string[] {
  const { causes, baseline } = explained;
  const { palette, room } = look;
  const rows = causes.map((cause) => figuresOf(cause, explained));
  const heads = causes.map(({ conditions }) => conditionLines(conditions, clock));
  const title = 'what failed events have';
  const figures = FIGURE_TITLES.map((text, index) =>
    Math.max(text.length, ...rows.map((row) => (row[index] as string).length)),
  ).reduce((sum, width) => sum + width + GAP, 0);
  // Conditions that leave the figures no room stand above them.
  const isWide =
    room === undefined ||
    [title, ...heads.map(([first]) => first as string)].every((text) => cellWidth(text) + figures <= room);
  const drawn = tableLines(
    {
      heads: [
        { title: isWide ? title : '', kind: 'text' },
        ...FIGURE_TITLES.map((text, index) => ({
          title: text,
          kind: 'number' as const,
          spare: index < 2 ? 1 : 0,
        })),
      ],
      rows: rows.map((row, index) => [isWide ? (heads[index]?.[0] as string) : '', ...row]),
    },
    look,
  );
  const cut = (text: string) => (room === undefined ? text : cutToWidth(text, Math.max(room, 80)));
  return [
    ...(isWide ? [] : [palette.bold(title)]),
    drawn[0] as string,
    ...causes.flatMap((cause, index) => {
      const [first, ...others] = heads[index] as [string, ...string[]];
      const isAlsoThen = baseline?.isAlsoThen[index] === true;
      return [
        ...(index > 0 ? [''] : []),
        ...(isWide ? [] : [cut(first)]),
        drawn[index + 1] as string,
        ...others.map((text) => cut(`  and ${text}`)),
        ...(cause.same.length > 0
          ? proseLines(`the same events: ${someOf(conditionLines(cause.same, clock), ', ')}`, look, '  ').map(
              palette.dim,
            )
          : []),
        `  ${timesText(cause, clock, palette.bad)}`,
        ...(isAlsoThen ? ['  also then'] : []),
      ];
    }),
    ...(causes.length > 1
      ? ['', palette.dim('events of a cause are not counted in the causes below it')]
      : []),
  ];
}

function figuresOf(cause: Cause, { failed, events }: Explained): string[] {
  const delivered = events - failed;
  const rate = cause.eventsWithout === 0 ? '' : ` (${percent(cause.failedWithout / cause.eventsWithout)})`;
  return [
    wholePercent(cause.failed / failed),
    delivered === 0 ? '-' : wholePercent((cause.events - cause.failed) / delivered),
    `${grouped(cause.failed)} of ${grouped(cause.events)}`,
    `${grouped(cause.failedWithout)} of ${grouped(cause.eventsWithout)}${rate}`,
  ];
}

/** Only exact values are shown as 0 % or 100 %. */
function wholePercent(share: number): string {
  if (share > 0 && share < 0.005) return '<1 %';
  if (share < 1 && share >= 0.995) return '>99 %';
  return `${Math.round(100 * share)} %`;
}

/** Each condition for people; a span of time is one. */
function conditionLines(conditions: readonly CauseCondition[], clock: ReadableTimes): string[] {
  const [from, to] = (['>=', '<='] as const).map(
    (op) => conditions.find((condition) => condition.field === 'createdOn' && condition.op === op)?.value,
  );
  const fields = conditions.filter(({ field }) => field !== 'createdOn').map(conditionWords);
  const shown = (value: unknown) => clock.timed(value as string);
  if (from !== undefined && to !== undefined) fields.push(`created from ${shown(from)} to ${shown(to)}`);
  else if (from !== undefined) fields.push(`created since ${shown(from)}`);
  else if (to !== undefined) fields.push(`created until ${shown(to)}`);
  return fields;
}

function conditionWords({ field, op, value }: CauseCondition): string {
  if (op === 'exists') return oneLine(`${field} is there`);
  if (op === 'missing') return oneLine(`${field} is missing`);
  // A text that looks like another kind of value is in quotes.
  const isPlain =
    typeof value === 'string' && value !== '' && !isNumber(value) && !/^(true|false|null)$/.test(value);
  return oneLine(`${field} ${op} ${isPlain ? value : JSON.stringify(value)}`);
}

function timesText(cause: Cause, clock: ReadableTimes, paint: (text: string) => string): string {
  const { firstFailed, lastFailed, lastSuccess, failingSince } = cause;
  const success = lastSuccess ? `last success ${clock.shown(lastSuccess)}` : 'no success';
  if (failingSince) return `${paint(`failing since ${clock.shown(failingSince)}`)}, ${success}`;
  if (!firstFailed || !lastFailed) return success;
  const isOver = lastSuccess && compareInstants(lastSuccess, lastFailed) > 0;
  return `first failure ${clock.shown(firstFailed)}, last failure ${clock.shown(lastFailed)}${isOver ? `, ${success}` : ''}`;
}

/** `delivery.lastError (503 Service Unavailable 20, …)`, `delivery.attempts = 5`. */
function effectTexts(effects: readonly Effect[]): string[] {
  const byField = new Map<string, Effect[]>();
  for (const effect of effects) byField.set(effect.field, [...(byField.get(effect.field) ?? []), effect]);
  return [...byField].map(([field, [first, ...others]]) => {
    const values =
      others.length > 0
        ? [first as Effect, ...others].map(({ value, failed }) => ({ value, failed }))
        : (first as Effect).values;
    if (first?.op === '=' && others.length === 0) return conditionWords(first);
    const texts = values.slice(0, 3).map(({ value, failed }) => `${valueText(value)} ${grouped(failed)}`);
    const more = values.length > 3 ? ', …' : '';
    return oneLine(texts.length === 0 ? field : `${field} (${texts.join(', ')}${more})`);
  });
}

/** The characters of a value that a line has room for. */
const LONGEST_VALUE = 60;

function valueText(value: unknown): string {
  return cutToWidth(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE);
}

function someOf(texts: readonly string[], separator: string): string {
  if (texts.length <= MOST_NAMED) return texts.join(separator);
  return [...texts.slice(0, MOST_NAMED), `${texts.length - MOST_NAMED} more`].join(separator);
}

/** Times in the user's zone, without fractions; without the date where it is that of the end of the window. */
export class ReadableTimes {
  readonly #zone: TimeZone;
  readonly #today: string;

  constructor(zone: TimeZone, end: Instant) {
    this.#zone = zone;
    this.#today = zone.shown(end.text).slice(0, 10);
  }

  shown({ text }: Instant): string {
    return this.timed(text);
  }

  timed(text: string): string {
    const time = this.#whole(text);
    return time.startsWith(`${this.#today} `) ? time.slice(11) : time;
  }

  /** Always with its date; full minutes without seconds. */
  dated({ text }: Instant): string {
    return this.#whole(text).replace(/( \d\d:\d\d):00(?=\D)/, '$1');
  }

  #whole(text: string): string {
    const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
    return this.#zone.shown(time).replace('T', ' ').replace(/\.\d+/, '');
  }
}

export interface HealthOptions extends Pick<SummaryFormat<'table' | 'json' | 'markdown'>, 'format' | 'jq'> {
  readonly filters: EventFilters;
  readonly from: string | undefined;
}

const ORDER = 'newest first in order of creation, which is not the order of delivery';

/** Prints the state of each subscription, or of each value of another field. */
export async function printHealth(
  report: HealthReport,
  { filters, format, jq, from }: HealthOptions,
  call: Pick<Call, 'context' | 'reporter' | 'commands'>,
): Promise<void> {
  const { context, reporter } = call;
  const { stdout } = context;
  if (format === 'json') return await printJson(healthJson(report), jq, context, reporter);
  await loadWidths();
  const isOpen = from === undefined && !filters.before;
  const counts = countsText(report, new ReadableTimes(filters.zone, report.before), isOpen);
  const table = healthTable(report, filters, takesUnicode(context));
  if (format === 'markdown') {
    const facts = [counts, ORDER, ...filters.texts().filter((text) => !/^--(since|until) /.test(text))];
    const note = markdownNote({ facts, command: typedCommand(call) });
    return await stdout.write(report.rows.length === 0 ? note : `${markdownTable(table)}\n${note}`);
  }
  if (report.rows.length === 0) return await stdout.write(`${counts}\n`);
  const look = await loadTableLook(stdout, reporter);
  const { palette } = look;
  await stdout.write(ended([...tableLines(table, look), '', palette.bold(counts), palette.dim(ORDER)]));
  if (
    report.rows.some(({ state }) => state === 'failing') &&
    stdout.isTerminal &&
    context.stderr.isTerminal
  ) {
    const source = from === undefined ? [] : ['--from', shellWord(from)];
    const words = ['hooktrail events explain', ...filters.words('status'), ...source].join(' ');
    reporter.notice(`next: \`${words}\` says why they fail`);
  }
}

function healthTable({ rows, by }: HealthReport, { zone }: EventFilters, unicode: boolean): Table {
  const time = (instant: Instant | undefined) =>
    instant ? zone.shown(instant.text).replace(/\.\d+/, '') : NONE;
  return {
    heads: [
      { title: by.steps.at(-1) as string, isWhole: true },
      { title: 'state', kind: 'status' },
      { title: 'failed', kind: 'number' },
      { title: 'failing since', kind: 'time', spare: 1 },
      { title: 'last success', kind: 'time', spare: 3 },
      { title: 'last ten', kind: 'text', spare: 2, least: 10 },
    ],
    rows: rows.map((row) => [
      groupText(row.value),
      row.state,
      `${grouped(row.failed)} of ${grouped(row.events)}`,
      time(row.failingSince),
      time(row.lastSuccess),
      marks(row, unicode),
    ]),
  };
}

function groupText(value: unknown): string {
  if (value === null) return NONE;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function marks({ recent }: Health, unicode: boolean): string {
  return unicode ? recent.replaceAll('F', '✗').replaceAll('S', '·') : recent.replaceAll('S', '.');
}

/** `2 of 8 failing, 1 recovered, since 2026-11-22 00:00Z`. */
function countsText({ rows, after, before }: HealthReport, times: ReadableTimes, isOpen: boolean): string {
  const span = isOpen
    ? `since ${times.dated(after)}`
    : `from ${times.dated(after)} to ${times.dated(before)}`;
  if (rows.length === 0) return `no events ${span}`;
  const number = (state: Health['state']) => rows.filter((row) => row.state === state).length;
  const [failing, recovered] = [number('failing'), number('recovered')];
  return `${failing} of ${rows.length} failing, ${recovered} recovered, ${span}`;
}
