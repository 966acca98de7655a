import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { EventFilters } from '../../events/event-filters.ts';
import { untoldText } from '../../events/event-source.ts';
import type { Explained } from '../../events/explain.ts';
import type { ReportData } from '../../events/report-data.ts';
import type { Stats } from '../../events/statistics.ts';
import type { EventGroups } from '../../events/stats.ts';
import { createRowReader, errorField, membersOf, tableColumns } from '../../json/item-columns.ts';
import type { FieldPath } from '../../json/item-fields.ts';
import type { Items } from '../../json/items.ts';
import { scalarsText } from '../../json/json-scanner.ts';
import { plain } from '../../terminal/palette.ts';
import { grouped, percent } from '../../terminal/terminal-text.ts';
import { knownInstant } from '../../time/instant.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { version } from '../../version.ts';
import { boundText, causeRows, explanationFacts, FIGURE_TITLES } from '../explanation-text.ts';
import { conditionTexts } from '../formats.ts';
import { prettyJson } from '../json.ts';
import { groupValue, timeLabels, UNLISTED } from '../statistics-text.ts';
import { type Html, html, type Rank, rankChart, shortened, timeChart } from './report-charts.ts';

export interface ReportFacts {
  readonly filters: EventFilters;
  /** The place of stored events; undefined for the service. */
  readonly from: string | undefined;
  /** The profile, if one was named. */
  readonly profile: string | undefined;
  /** Milliseconds since the epoch. */
  readonly generatedAt: number;
}

const NAME = 200;
const RANKS = 15;
/** The number of failure groups that get their own line. */
const MOST_GROUPS = 100;

/** The page without its contents: `{{name}}` stands for a part. Style and script are in it. */
const template = readFileSync(new URL('report.html', import.meta.url), 'utf8');
const SCRIPT = /<script>([\s\S]*)<\/script>\n/;

/** Returns a page about failed deliveries: one HTML document that uses no network and runs only its own script. */
export function reportPage(data: ReportData, facts: ReportFacts): string {
  const { failed, name, untold } = data.explained;
  const none = untold > 0 ? 'No known' : 'No';
  const title = html`${failed === 0 ? none : grouped(failed)} failed ${failed === 1 ? 'delivery' : 'deliveries'}, ${name}`;
  const policy = `default-src 'none'; style-src ${hashOf(/<style>([\s\S]*)<\/style>/)}; script-src ${hashOf(SCRIPT)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const parts: Readonly<Record<string, string>> = {
    policy,
    title: title.text,
    main: contents(data, facts, title).text,
  };
  const page = data.failures.count > 0 ? template : template.replace(SCRIPT, '');
  return page.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] as string);
}

/** A part of the page as a content security policy names it. */
function hashOf(part: RegExp): string {
  const [, text = ''] = part.exec(template) ?? [];
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function contents(data: ReportData, { filters, from, profile, generatedAt }: ReportFacts, title: Html): Html {
  const { explained, stats, subscriptions, failures, groups } = data;
  const { failed, name, after, before } = explained;
  const { zone } = filters;
  const others = conditionTexts(filters);
  return html`<h1>${title}</h1>
<p class="lead">${lead(stats, explained)}${explained.untold > 0 ? html` ${untoldText(explained.untold)}.` : ''}</p>
<dl>
<dt>${from === undefined ? 'Service' : 'Source'}</dt><dd>${profile === undefined ? name : `${name}, profile ${profile}`}</dd>
<dt>Period</dt><dd>${boundText(after, zone)} to ${boundText(before, zone)} (${zone.name})</dd>
<dt>Filters</dt><dd>${others.length > 0 ? shortened(others.join(' '), 1000) : 'none'}</dd>
<dt>Generated</dt><dd>${boundText(knownInstant(generatedAt), zone)} by hooktrail ${version}</dd>
</dl>
${failed > 0 ? causesSection(explained, zone) : ''}
${stats.total > 0 ? overTime(stats) : ''}
${failed > 0 ? byType(stats) : ''}
${section(
  'By subscription',
  subscriptions.map(({ value, failed }) => countRank(value as string, failed)),
)}
${groups && groups.total > 0 ? byFields(groups) : ''}
${failures.count > 0 ? latest(failuresTable(failures, zone), failures.count, failed) : ''}`;
}

function lead(stats: Stats, explained: Explained): Html {
  if (stats.total === 0) return explained.untold > 0 ? html`` : html`No events in this period.`;
  if (!stats.failed)
    return html`No failed deliveries: ${stats.total === 1 ? 'the one event was' : `all ${grouped(stats.total)} events were`} delivered.`;
  return html`<strong>${grouped(stats.failed)} of ${grouped(stats.total)} ${stats.total === 1 ? 'event' : 'events'} failed</strong> (${percent(stats.failed / stats.total)}).`;
}

/** The causes come first. */
function causesSection(explained: Explained, zone: TimeZone): Html {
  const rows = causeRows(explained, zone);
  const cell = (lines: readonly string[]) => lines.map((line) => html`<div><bdi>${line}</bdi></div>`);
  return html`<section>
<h2>What failed events have in common</h2>
${
  rows.length === 0
    ? ''
    : html`<div class="scroll"><table class="causes">
<thead><tr><th scope="col">what failed events have</th>${FIGURE_TITLES.map((title) => html`<th scope="col" class="number">${title}</th>`)}</tr></thead>
<tbody>${rows.map(
        ({ conditions, notes, figures }) =>
          html`<tr><td><strong>${cell(conditions)}</strong><div class="muted">${cell(notes)}</div></td>${figures.map((figure) => html`<td class="number">${figure}</td>`)}</tr>`,
      )}</tbody></table></div>`
}
${explanationFacts(explained).map((fact) => html`<p>${fact}</p>`)}
</section>`;
}

function overTime(stats: Stats): Html {
  const { title, label } = timeLabels(stats.buckets, stats.window.zone);
  return html`<section>
<h2>Over time</h2>
${timeChart(stats)}
<details><summary>Numbers</summary>
<table><thead><tr><th scope="col">from (${title})</th><th scope="col" class="number">failed</th><th scope="col" class="number">events</th></tr></thead>
<tbody>${stats.buckets.map((bucket) => html`<tr><td>${label(bucket)}</td><td class="number">${grouped(bucket.failed ?? 0)}</td><td class="number">${grouped(bucket.total)}</td></tr>`)}</tbody></table>
</details>
</section>`;
}

/** Lists types in the order of `events stats`, worst first. */
function byType(stats: Stats): Html {
  const ranks = stats.types
    .filter(({ failed }) => failed)
    .map((type): FailureRank => {
      const failed = type.failed as number;
      const value = failed / type.total;
      const [figure, total] = [percent(value), grouped(type.total)];
      return {
        ...{ name: type.eventType ?? UNLISTED, failed, value },
        figure,
        note: `${grouped(failed)} of ${total}`,
        share: `${figure} of ${total}`,
      };
    });
  return section('By type', ranks);
}

function byFields(groups: EventGroups): Html {
  const rankOf = (name: string, count: number): FailureRank => {
    const share = percent(count / groups.total);
    return { ...countRank(name, count), note: share, share };
  };
  const largest = groups.largest();
  const ranks = largest
    .slice(0, MOST_GROUPS)
    .map(({ values, count }) => rankOf(values.map(groupValue).join(' · '), count));
  const rest = largest.slice(MOST_GROUPS).reduce((sum, { count }) => sum + count, 0);
  if (rest > 0) ranks.push(rankOf('(others)', rest));
  return section(`By ${groups.fields.map(({ text }) => text).join(', ')}`, ranks);
}

interface FailureRank extends Rank {
  readonly failed: number;
  readonly share?: string;
}

function countRank(name: string, failed: number): FailureRank {
  return { name, failed, value: failed, figure: grouped(failed) };
}

function section(title: string, ranks: readonly FailureRank[]): Html {
  if (ranks.length === 0) return html``;
  const more = ranks.length - RANKS;
  return html`<section>
<h2>${title}</h2>
${rankChart(title, ranks.slice(0, RANKS))}
${more > 0 ? html`<p class="muted">and ${more} more that are less affected</p>` : ''}
<details><summary>Numbers</summary>
<table><thead><tr><th scope="col">name</th><th scope="col" class="number">failed</th><th scope="col">share</th></tr></thead>
<tbody>${ranks.map(({ name, failed, share }) => html`<tr><td><bdi>${shortened(name, NAME)}</bdi></td><td class="number">${grouped(failed)}</td><td>${share ?? ''}</td></tr>`)}</tbody></table>
</details>
</section>`;
}

function latest(table: Html, shown: number, failed: number): Html {
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
/** Longer JSON is cut: a browser could not open the page. */
const JSON_LENGTH_CHARACTERS = 50_000;

/** Returns a table of failures, each with why it failed, where the event tells, and its JSON below. */
export function failuresTable(failures: Items, zone: TimeZone): Html {
  const columns = columnsOf(failures);
  const names = columns.map(({ name }) => name);
  const read = createRowReader(
    columns.map(({ path }) => path),
    (bytes, start, end) => zone.shown(scalarsText(bytes, start, end, CELL)),
    '',
  );
  const isSorted = names[0] === 'createdOn' && failures.count > 1;
  return html`<div class="scroll" role="region" aria-label="Latest failures" tabindex="0"><table class="events">
<thead><tr><td></td>${names.map((name, index) =>
    isSorted && index === 0
      ? html`<th scope="col" aria-sort="descending">${shortened(name, 40)}</th>`
      : html`<th scope="col">${shortened(name, 40)}</th>`,
  )}</tr></thead>
${read(failures).map(
  (cells, index) => html`<tbody>
<tr class="data"><td data-name="JSON"><details><summary aria-label="JSON" title="JSON"></summary></details></td>${cells.map((cell, column) => html`<td class="${isWhole(cell) ? 'whole' : ''}" data-name="${shortened(names[column] as string, 40)}"><bdi>${shortened(cell, CELL)}</bdi></td>`)}</tr>
<tr class="json"><td colspan="${names.length + 1}"><pre>${cut(prettyJson(failures.bytes, failures.start(index), failures.end(index), plain))}</pre></td></tr>
</tbody>
`,
)}</table></div>`;
}

/** Ids and times are hard to read and to copy when they wrap. */
function isWhole(cell: string): boolean {
  return /^[\w.:+-]{1,40}$/.test(cell);
}

function cut(json: string): string {
  if (json.length <= JSON_LENGTH_CHARACTERS) return json;
  return `${shortened(json, JSON_LENGTH_CHARACTERS)}\n\n(cut: ${json.length - JSON_LENGTH_CHARACTERS} more characters; \`hooktrail events get\` shows all)`;
}

/** Every row is a failure, so that the status is left out. The last column says why the delivery failed. */
function columnsOf(failures: Items): { readonly name: string; readonly path: FieldPath }[] {
  const known = tableColumns(membersOf([failures]), 'events');
  const telling = known.filter(({ text }) => text !== 'publishStatus');
  const columns = (telling.length > 0 ? telling : known).map((path) => ({ name: path.text, path }));
  const error = errorField([failures]);
  return error ? [...columns, { name: 'error', path: error }] : columns;
}
