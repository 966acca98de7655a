import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Baseline } from '../explain/baseline.ts';
import type { Explained } from '../explain/explain.ts';
import {
  baselineText,
  type CauseRow,
  causeRows,
  explanationFacts,
  FIGURE_TITLES,
  someOf,
} from '../explain/explanation-text.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { ADDRESS_HEAD, FOR_HEAD, tableColumns } from '../formats/event-columns.ts';
import type { SubscriptionLabels } from '../formats/format-options.ts';
import { subscriptionIdsOf } from '../formats/item-table.ts';
import { prettyJson } from '../formats/json.ts';
import { conditionTexts } from '../formats/summary.ts';
import { anyText, boundText, isOpen, isPast } from '../formats/summary-words.ts';
import type { Table } from '../formats/table.ts';
import { OR_EARLIER } from '../formats/table-columns.ts';
import type { FieldPath } from '../items/field-path.ts';
import { createRowReader, errorField } from '../items/item-columns.ts';
import type { Items } from '../items/items.ts';
import { scalarsText } from '../items/json-scanner.ts';
import type { EventGroups } from '../questions/event-groups.ts';
import type { Health } from '../questions/health-row.ts';
import { mixText, unknownOutcomesText } from '../sources/event-source.ts';
import { inOrderOfClock } from '../stats/clock-groups.ts';
import { groupTable } from '../stats/groups-text.ts';
import { talliesTable, timeTable, UNLISTED } from '../stats/stats-text.ts';
import type { Stats } from '../stats/tallies.ts';
import { plain } from '../terminal/palette.ts';
import { grouped, percent, shortened } from '../terminal/terminal-text.ts';
import { knownInstant } from '../time/instant.ts';
import { firstAfter } from '../time/period.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { version } from '../version.ts';
import { type Html, html, tableHtml, timeChart } from './report-charts.ts';
import type { ReportData } from './report-data.ts';

export interface ReportFacts {
  readonly filters: EventFilters;
  readonly from: string | undefined;
  readonly title: string | undefined;
  readonly baseline: Baseline | undefined;
  readonly profile: string | undefined;
  /** Milliseconds since the epoch. */
  readonly generatedAt: number;
}

/** Maximum rows shown without unfolding. */
const SHOWN_ROWS = 15;
/** Maximum rows on the page. */
const MAX_ROWS = 100;

/** `{{name}}` is replaced by a part. Includes style and script. */
const template = readFileSync(new URL('report.html', import.meta.url), 'utf8');
const SCRIPT = /<script>([\s\S]*)<\/script>\n/;

/** A self-contained HTML document that uses no network and runs only its own script. */
export function reportPage(data: ReportData, facts: ReportFacts): string {
  const { events, failed, name, unknownOutcomes } = data.explained;
  const none = unknownOutcomes > 0 ? 'No known' : 'No';
  const deliveries = html`${failed === 0 ? none : grouped(failed)} failed ${failed === 1 ? 'delivery' : 'deliveries'}`;
  const own = html`${events + unknownOutcomes === 0 ? 'No events' : deliveries}, ${name}`;
  const title = facts.title === undefined ? own : html`${facts.title}`;
  const policy = `default-src 'none'; style-src ${hashOf(/<style>([\s\S]*)<\/style>/)}; script-src ${hashOf(SCRIPT)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const parts: Readonly<Record<string, string>> = {
    policy,
    title: title.text,
    main: contents(data, facts, title).text,
  };
  const page = data.failures.count > 0 ? template : template.replace(SCRIPT, '');
  return page.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] as string);
}

function hashOf(part: RegExp): string {
  const [, text = ''] = part.exec(template) ?? [];
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function contents(data: ReportData, facts: ReportFacts, title: Html): Html {
  const { explained, stats, customers, nameField, subscriptions, groups, mixedMarketplaces } = data;
  const { filters } = facts;
  const { zone } = filters;
  const isOver = isPast(facts, explained.before, facts.generatedAt);
  const times = { stats, zone, isOver };
  const failing = stats.types.filter((type) => type.failed);
  const byType = failing.map((type) => [type.eventType ?? UNLISTED, type] as const);
  return html`<h1>${title}</h1>
<p class="lead">${lead(stats, explained)}${explained.unknownOutcomes > 0 ? html` ${unknownOutcomesText(explained.unknownOutcomes)}.` : ''}</p>
${mixedMarketplaces ? html`<p class="muted">${mixText(mixedMarketplaces)}</p>` : ''}
${affectedLead(data, facts)}
${explained.baseline && facts.baseline ? html`<p>Compared: ${baselineText(explained.baseline, facts.baseline, isOpen(facts))}.</p>` : ''}
${factsList(explained, facts)}
${explained.failed > 0 ? causesSection(explained, zone, isOver) : ''}
${stats.total > 0 ? overTime(stats) : ''}
${customers && nameField ? affectedSection('By customer', nameField.text, customers.rows, times) : ''}
${byType.length > 0 ? section('By type', talliesTable('type', byType, stats)) : ''}
${subscriptions ? affectedSection('By subscription', 'subscription', subscriptions.rows, times) : ''}
${groups && groups.total > 0 ? groupsSection(groups, stats) : ''}
${data.failures.count > 0 ? latest(data, zone) : ''}`;
}

/** Largest first; hours and weekdays follow the clock. */
function groupsSection(groups: EventGroups, { window }: Stats): Html {
  const largest = groups.result();
  const title = `Failures by ${groups.fields.map(({ text }) => text).join(', ')}`;
  const clock = inOrderOfClock(groups, largest, window);
  // A clock has few rows, and the last ones matter as much as the first.
  if (clock) return section(title, groupTable(clock, groups, window.zone), clock.length);
  return section(title, groupTable(largest, groups, window.zone));
}

function factsList(
  { name, after, before }: Explained,
  { filters, from, profile, generatedAt }: ReportFacts,
): Html {
  const { zone } = filters;
  const others = conditionTexts(filters);
  return html`<dl>
<dt>${from === undefined ? 'Service' : 'Source'}</dt><dd>${profile === undefined ? name : `${name}, profile ${profile}`}</dd>
<dt>Period</dt><dd>${boundText(firstAfter(after), zone)} to ${boundText(before, zone)} (${zone.name})</dd>
<dt>Filters</dt><dd>${others.length > 0 ? shortened(others.join(' '), 1000) : 'none'}</dd>
<dt>Generated</dt><dd>${boundText(knownInstant(generatedAt), zone)} by hooktrail ${version}</dd>
</dl>`;
}

function lead(stats: Stats, explained: Explained): Html {
  if (stats.total === 0) return explained.unknownOutcomes > 0 ? html`` : html`No events in this period.`;
  if (!stats.failed)
    return html`No failed deliveries: ${stats.total === 1 ? 'the one event was' : `all ${grouped(stats.total)} events were`} delivered.`;
  return html`<strong>${grouped(stats.failed)} of ${grouped(stats.total)} ${stats.total === 1 ? 'event' : 'events'} failed</strong> (${percent(stats.failed / stats.total)}).`;
}

/** Counts customers, or subscriptions if the events name no customers. */
function affectedLead({ customers, subscriptions, stats }: ReportData, facts: ReportFacts): Html {
  const some = customers ?? subscriptions;
  if (!some || !stats.failed) return html``;
  const noun = customers ? 'customer' : 'subscription';
  const failing = some.rows.filter(({ state }) => state === 'failing').length;
  const when = isOpen(facts) ? 'still failing' : 'failing at the end of this period';
  const still = failing === 0 ? html`none ${when}` : html`<strong>${grouped(failing)} ${when}</strong>`;
  return html`<p class="lead">${grouped(some.rows.length)} of ${grouped(some.all)} ${some.all === 1 ? noun : `${noun}s`} affected, ${still}.</p>`;
}

function causesSection(explained: Explained, zone: TimeZone, isOver: boolean): Html {
  const rows = causeRows(explained, zone, isOver);
  return html`<section>
<h2>What failed events have in common</h2>
${rows.length > 0 ? causesTable(rows) : ''}
${explanationFacts(explained).map((fact) => html`<p>${fact}</p>`)}
</section>`;
}

function causesTable(rows: readonly CauseRow[]): Html {
  const cut = (text: string) => shortened(text, LONGEST_CONDITION_CHARACTERS);
  return html`<table class="figures cards causes">
<thead><tr><th scope="col" class="text">cause</th>${FIGURE_TITLES.map((title) => html`<th scope="col" class="number">${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ conditions, ids, same, notes, figures }) => html`<tr><td class="text">
<div class="cause"><bdi>${cut(conditions.join(' and '))}</bdi></div>
${ids.length > 0 ? html`<div class="muted"><bdi>${cut(ids.join(', '))}</bdi></div>` : ''}
${notes.map(({ text, bad = '' }) => html`<div><span class="bad">${bad}</span>${text.slice(bad.length)}</div>`)}
${same.length > 0 ? html`<div class="same">the same events: <bdi>${cut(someOf(same))}</bdi></div>` : ''}
</td>${figures.map((figure, index) => html`<td class="number" data-name="${FIGURE_TITLES[index] as string}">${figure}</td>`)}</tr>
`,
  )}</tbody></table>`;
}

const LONGEST_CONDITION_CHARACTERS = 1000;

function overTime(stats: Stats): Html {
  return html`<section>
<h2>Over time</h2>
${timeChart(stats)}
<details><summary>Numbers</summary>${tableHtml(timeTable(stats))}</details>
</section>`;
}

interface AffectedTimes {
  readonly stats: Stats;
  readonly zone: TimeZone;
  readonly isOver: boolean;
}

function affectedSection(
  title: string,
  column: string,
  rows: readonly Health[],
  { stats, zone, isOver }: AffectedTimes,
): Html {
  if (rows.length === 0) return html``;
  const tallies = rows.map((row) => {
    const { failed, events: total } = row;
    return [whoText(row), { failed, total, success: total - failed }] as const;
  });
  const { heads, rows: cells } = talliesTable(column, tallies, stats);
  return section(title, {
    heads: heads.toSpliced(-1, 0, { title: isOver ? 'at the end' : 'now', kind: 'text' }),
    rows: cells.map((row, index) => row.toSpliced(-1, 0, stateText(rows[index] as Health, zone, isOver))),
  });
}

function whoText({ values: [value], who, address }: Health): string {
  const text = anyText(value);
  const known = [who, address].filter((name) => name !== null);
  return known.length === 0 ? text : `${known.join(', ')} (${text})`;
}

function stateText(
  { state, failingSince, edge, lastFailed }: Health,
  zone: TimeZone,
  isOver: boolean,
): string {
  if (state === 'failing' && failingSince)
    return `${isOver ? 'failing at the end, from' : 'failing since'} ${boundText(failingSince, zone)}${edge ? OR_EARLIER : ''}`;
  if (state === 'failing' || state === 'off' || state === 'gone') return state;
  return lastFailed ? `last failure ${boundText(lastFailed, zone)}` : '-';
}

function section(title: string, { heads, rows }: Table, shown = SHOWN_ROWS): Html {
  const folded = { heads, rows: rows.slice(shown, MAX_ROWS) };
  const more = rows.length - shown;
  const number = more > folded.rows.length ? `${folded.rows.length} of ${grouped(more)}` : more;
  return html`<section>
<h2>${title}</h2>
${tableHtml({ heads, rows: rows.slice(0, shown) })}
${more > 0 ? html`<details><summary>${number} more that are less affected</summary>${tableHtml(folded)}</details>` : ''}
</section>`;
}

function latest({ failures, explained, nameField }: ReportData, zone: TimeZone): Html {
  const { failed, names } = explained;
  const shown = failures.count;
  const table = failuresTable(failures, zone, { names, nameField });
  const isPart = failed > shown;
  return html`<section>
<h2>Latest failures</h2>
<p class="muted">${isPart ? `The latest ${grouped(shown)} of ${grouped(failed)}; --limit shows more.` : `${grouped(shown)} ${shown === 1 ? 'event' : 'events'}.`}</p>
<div class="controls" id="controls" hidden>
<label for="filter">Filter</label> <input id="filter" type="search" autocomplete="off" spellcheck="false" placeholder="any words of the event">
<span id="shown" role="status" aria-live="polite"></span>
</div>
${table}
</section>`;
}

const CELL = 120;
/** Longer JSON is cut, since browsers could not open the page. */
const JSON_LENGTH_CHARACTERS = 50_000;

interface Naming {
  readonly names?: SubscriptionLabels | undefined;
  readonly nameField?: FieldPath | undefined;
}

/** Known subscriptions are shown by address; the JSON has their ids. */
export function failuresTable(
  failures: Items,
  zone: TimeZone,
  { names: labels, nameField }: Naming = {},
): Html {
  const columns = columnsOf(failures, nameField);
  const names = columns.map(({ name }) => name);
  const read = createRowReader(
    columns.map(({ path }) => path),
    (bytes, start, end) => zone.shown(scalarsText(bytes, start, end, CELL)),
    '',
  );
  const ofSubscription = names.indexOf('subscriptionId');
  const ids = ofSubscription < 0 ? [] : subscriptionIdsOf(failures);
  if (ids.some((id) => labels?.labelOf(id) !== undefined)) names[ofSubscription] = ADDRESS_HEAD.title;
  const shown = (cell: string, column: number) =>
    column === ofSubscription ? (labels?.labelOf(cell) ?? cell) : cell;
  const isSorted = names[0] === 'createdOn' && failures.count > 1;
  return html`<div class="scroll" role="region" aria-label="Latest failures" tabindex="0"><table class="events">
<thead><tr><td></td>${names.map((name, index) =>
    isSorted && index === 0
      ? html`<th scope="col" aria-sort="descending">${shortened(name, 40)}</th>`
      : html`<th scope="col">${shortened(name, 40)}</th>`,
  )}</tr></thead>
${read(failures).map(
  (cells, index) => html`<tbody>
<tr class="data"><td data-name="JSON"><details><summary aria-label="JSON" title="JSON"></summary></details></td>${cells.map(shown).map((cell, column) => html`<td class="${WHOLE.test(cell) ? 'whole' : ''}" data-name="${shortened(names[column] as string, 40)}"><bdi>${shortened(cell, CELL)}</bdi></td>`)}</tr>
<tr class="json"><td colspan="${names.length + 1}"><pre>${cut(prettyJson(failures.bytes, failures.start(index), failures.end(index), plain))}</pre></td></tr>
</tbody>
`,
)}</table></div>`;
}

/** Ids and times must not wrap: they would be hard to read and to copy. */
const WHOLE = /^[\w.:+-]{1,40}$/;

function cut(json: string): string {
  if (json.length <= JSON_LENGTH_CHARACTERS) return json;
  return `${shortened(json, JSON_LENGTH_CHARACTERS)}\n\n(cut: ${json.length - JSON_LENGTH_CHARACTERS} more characters; \`hooktrail events get\` shows all)`;
}

interface FailureColumn {
  readonly name: string;
  readonly path: FieldPath;
}

/** Omits the status, since every row failed. The last column is the reason. */
function columnsOf(failures: Items, nameField: FieldPath | undefined): FailureColumn[] {
  const known = tableColumns([failures], 'events');
  const informative = known.filter(({ text }) => text !== 'publishStatus');
  const columns = (informative.length > 0 ? informative : known).map((path) => ({ name: path.text, path }));
  const isShown = columns.some(({ name }) => name === nameField?.text);
  const who = nameField && !isShown ? [{ name: FOR_HEAD.title, path: nameField }] : [];
  const at = columns.findIndex(({ name }) => name === 'subscriptionId');
  const named = columns.toSpliced(at === -1 ? columns.length : at, 0, ...who);
  const error = errorField([failures]);
  return error ? [...named, { name: 'error', path: error }] : named;
}
