import { createHash } from 'node:crypto';
import type { EventGroups } from '../../events/group-events.ts';
import type { ReportData, SubscriptionTally } from '../../events/report-data.ts';
import { failureRate, type Stats } from '../../events/statistics.ts';
import { createRowReader } from '../../json/item-cells.ts';
import { type Members, membersOf, tableColumns } from '../../json/item-columns.ts';
import type { FieldPath } from '../../json/item-fields.ts';
import type { Items } from '../../json/items.ts';
import { valueText } from '../../json/json-scanner.ts';
import { grouped, percent } from '../../terminal/numbers-text.ts';
import { plain } from '../../terminal/palette.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { groupValue } from '../groups-text.ts';
import { prettyJson } from '../json.ts';
import { timeLabels, UNLISTED } from '../statistics-text.ts';
import { script, style } from './report-assets.ts';
import { type Rank, rankChart, timeChart } from './report-charts.ts';
import { Html, html, shortened } from './report-html.ts';

export interface ReportFacts {
  /** Host of the event service. */
  readonly host: string;
  /** The filters as typed, each a flag and its value; none where there were none. */
  readonly filters: readonly string[];
  readonly generatedAt: Date;
  readonly version: string;
  /** The maximum number of rows of the table. */
  readonly limit: number;
}

const NAME = 200;
const RANKS = 15;
/** The number of failure groups that get their own line. */
const MOST_GROUPS = 100;

/** Returns a page about failed deliveries: one HTML document that uses no network and runs only its own script. */
export function reportPage(data: ReportData, facts: ReportFacts): string {
  const { window, stats, subscriptions, failures, groups } = data;
  const { table, shown } = failuresTable(failures, facts.limit, data.window.zone);
  const failed = stats?.failed ?? undefined;
  const title = `Failed deliveries, ${facts.host}`;
  const { zone } = window;
  const period = `${zone.shown(window.after.text)} to ${zone.shown(window.before.text)} (${zone.name})`;
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; img-src data:; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="lead">${lead(stats, shown)}</p>
<dl>
<dt>Period</dt><dd>${period}</dd>
<dt>Filters</dt><dd>${facts.filters.length > 0 ? shortened(facts.filters.join(' '), 1000) : 'none'}</dd>
<dt>Generated</dt><dd>${zone.shown(facts.generatedAt.toISOString())} by hooktrail ${facts.version}</dd>
</dl>
${stats && stats.total > 0 ? overTime(stats) : ''}
${stats && (failed ?? 0) > 0 ? byType(stats) : ''}
${subscriptions.some(({ subscriptionId, failed }) => subscriptionId && failed > 0) ? bySubscription(subscriptions) : ''}
${groups && groups.total > 0 ? byFields(groups) : ''}
${shown > 0 ? latest(table, shown, failed) : ''}
</main>
${shown > 0 ? html`<script>${new Html(script)}</script>` : ''}
</body>
</html>
`.text;
}

function lead(stats: Stats | undefined, shown: number): Html {
  if (!stats) {
    return shown > 0
      ? html`<strong>${grouped(shown)} failed</strong> (the service gives no counts: these are the latest, there may be more)`
      : html`No failed deliveries.`;
  }
  if (stats.total === 0) return html`No events in this period.`;
  if (!stats.failed)
    return html`No failed deliveries: ${stats.total === 1 ? 'the one event was' : `all ${grouped(stats.total)} events were`} delivered.`;
  const rate = failureRate(stats);
  return html`<strong>${grouped(stats.failed)} of ${grouped(stats.total)} ${stats.total === 1 ? 'event' : 'events'} failed</strong>${rate === null ? '' : ` (${percent(rate)})`}.`;
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
      const name = type.eventType ?? UNLISTED;
      const rate = failureRate(type);
      const failed = type.failed as number;
      if (rate === null) return countRank(name, failed);
      const [figure, total] = [percent(rate), grouped(type.total)];
      return {
        name,
        failed,
        value: rate,
        figure,
        note: `${grouped(failed)} of ${total}`,
        share: `${figure} of ${total}`,
      };
    });
  return section('By type', ranks);
}

function bySubscription(subscriptions: readonly SubscriptionTally[]): Html {
  const ranks = subscriptions
    .filter(({ failed }) => failed > 0)
    .map(({ subscriptionId, failed }) => countRank(subscriptionId ?? '(others)', failed));
  return section('By subscription', ranks);
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

function latest(table: Html, shown: number, failed: number | undefined): Html {
  const isPart = failed !== undefined && failed > shown;
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

interface Row {
  readonly cells: readonly string[];
  readonly created: string;
  readonly json: string;
}

const CELL = 120;
/** Longer JSON is cut: a browser could not open the page. */
const JSON_LENGTH = 50_000;

/** Returns a table of the latest failures, newest first, each with its event's JSON below. */
export function failuresTable(
  pages: readonly Items[],
  limit: number,
  zone: TimeZone,
): { table: Html; shown: number } {
  const columns = columnsOf(pages);
  const rows = rowsOf(pages, columns, zone)
    .sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0))
    .slice(0, limit);
  const names = columns.map(({ text }) => text);
  const isSorted = names[0] === 'createdOn' && rows.length > 1;
  const table = html`<div class="scroll" role="region" aria-label="Latest failures" tabindex="0"><table class="events">
<thead><tr>${names.map((name, index) =>
    isSorted && index === 0
      ? html`<th scope="col" aria-sort="descending">${shortened(name, 40)}</th>`
      : html`<th scope="col">${shortened(name, 40)}</th>`,
  )}</tr></thead>
${rows.map(
  ({ cells, json }) => html`<tbody>
<tr class="data">${cells.map((cell, index) => html`<td class="${isWhole(cell) ? 'whole' : ''}" data-name="${shortened(names[index] as string, 40)}"><bdi>${shortened(cell, CELL)}</bdi></td>`)}</tr>
<tr class="json"><td colspan="${names.length}"><details><summary>JSON</summary><pre>${cut(json)}</pre></details></td></tr>
</tbody>
`,
)}</table></div>`;
  return { table, shown: rows.length };
}

/** Ids and times are hard to read and to copy when they wrap. */
function isWhole(cell: string): boolean {
  return /^[\w.:+-]{1,40}$/.test(cell);
}

function cut(json: string): string {
  if (json.length <= JSON_LENGTH) return json;
  return `${shortened(json, JSON_LENGTH)}\n\n(cut: ${json.length - JSON_LENGTH} more characters; \`hooktrail events get\` shows all)`;
}

/** Leaves out the status: every row is a failure. */
function columnsOf(pages: readonly Items[]): FieldPath[] {
  let members: Members = { names: new Map(), bare: false };
  for (const page of pages) members = membersOf(page, members);
  const columns = tableColumns(members, 'events');
  const telling = columns.filter(({ text }) => text !== 'publishStatus');
  return telling.length > 0 ? telling : [...columns];
}

function rowsOf(pages: readonly Items[], columns: readonly FieldPath[], zone: TimeZone): Row[] {
  const read = createRowReader(columns, (...value) => zone.shown(valueText(...value)), '');
  const readCreated = createRowReader([{ text: 'createdOn', steps: ['createdOn'] }], valueText, '');
  return pages.flatMap((page) => {
    const created = readCreated(page);
    return read(page).map((cells, index) => ({
      cells,
      created: created[index]?.[0] ?? '',
      json: prettyJson(page.bytes, page.start(index), page.end(index), plain),
    }));
  });
}
