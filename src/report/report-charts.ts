import type { Table } from '../formats/table.ts';
import type { TableCell } from '../formats/table-columns.ts';
import { timeLabels } from '../stats/stats-text.ts';
import type { Stats } from '../stats/tallies.ts';
import { shortened, terminalSafe, unicodeEscape } from '../terminal/terminal-text.ts';

/** Bars are left out on a narrow page, where their figures suffice. */
export function tableHtml({ heads, rows }: Table): Html {
  // A table with a second column of words becomes cards on a narrow page.
  const hasStates = heads.filter(({ kind }) => kind === 'text').length > 1;
  const nameOf = (index: number) =>
    hasStates && index > 0 ? html` data-name="${heads[index]?.title ?? ''}"` : html``;
  const cellOf = (cell: TableCell, index: number) =>
    typeof cell === 'string'
      ? html`<td class="${heads[index]?.kind ?? 'text'}"${nameOf(index)}><bdi>${shortened(cell, LONGEST_CELL_CHARACTERS)}</bdi></td>`
      : html`<td class="bar wide"><svg aria-hidden="true" height="8">${[bar(0, 0, cell.share, 8, 'failed')]}</svg></td>`;
  return html`<div class="scroll"><table class="figures${hasStates ? ' cards' : ''}">
<thead><tr>${heads.map(({ title, kind = 'text' }) => html`<th scope="col" class="${kind}${kind === 'bar' ? ' wide' : ''}">${title}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cellOf)}</tr>\n`)}</tbody></table></div>`;
}

const LONGEST_CELL_CHARACTERS = 1000;

/** Failures, with deliveries below on a scale of their own. */
export function timeChart({ buckets, window }: Stats): Html {
  const clock = timeLabels(buckets, window.zone);
  const panels: readonly Panel[] = [
    { name: 'failed', role: 'failed', values: buckets.map((one) => one.failed ?? 0) },
    { name: 'delivered', role: 'success', values: buckets.map((one) => one.success ?? 0) },
  ];
  const label = `${panels.map(({ name }) => name).join(' and ')} events over time (${clock.title})`;
  const bottom = panels.length * (PANEL_PIXELS + TITLE_PIXELS);
  const { length } = buckets;
  const every = Math.ceil(length / MAX_TIMES);
  const times = buckets.flatMap((bucket, index) => {
    // The edge of the page would cut the last ones.
    if (index % every !== 0 || (index > 0 && index + every > length)) return [];
    const isWide = index > 0 && (index % (2 * every) !== 0 || index + 2 * every > length);
    return [text(index / length, bottom + 18, 'muted', clock.label(bucket), isWide)];
  });
  const places = panels.map((panel, index) => ({ ...panel, top: index * (PANEL_PIXELS + TITLE_PIXELS) }));
  const height = bottom + AXIS_PIXELS;
  // The scale has a fixed width; the bars fill the rest, so their widths are shares. `label` is for screen
  // readers.
  return html`<div class="chart"><svg class="scale" aria-hidden="true" height="${height}">${places.flatMap(scaleLabels)}</svg>
<svg role="img" aria-label="${label}" focusable="false" height="${height}">${[...places.flatMap(panelShapes), ...times]}</svg></div>`;
}

interface Panel {
  readonly name: string;
  readonly role: Role;
  readonly values: readonly number[];
}

const PANEL_PIXELS = 138;
const TITLE_PIXELS = 30;
const AXIS_PIXELS = 26;

/** `top` is in pixels. */
interface PlacedPanel extends Panel {
  readonly top: number;
}

function scaleIn({ values, top }: PlacedPanel) {
  const scale = scaleOf(Math.max(...values));
  const base = top + TITLE_PIXELS + PANEL_PIXELS - PANEL_MARGIN_PIXELS;
  const heightOf = (value: number) => (value / scale.end) * (PANEL_PIXELS - PANEL_MARGIN_PIXELS);
  return { marks: scale.marks, base, heightOf };
}

const PANEL_MARGIN_PIXELS = 12;
/** From a mark's line down to its digits' baseline, which centres them. */
const DIGITS_PIXELS = 4;

function scaleLabels(panel: PlacedPanel): Html[] {
  const { marks, base, heightOf } = scaleIn(panel);
  return marks.map(
    (mark) =>
      html`<text x="100%" y="${rounded(base - heightOf(mark) + DIGITS_PIXELS)}" text-anchor="end" fill="${colorOf('muted')}">${compactNumber.format(mark)}</text>`,
  );
}

function panelShapes(panel: PlacedPanel): Html[] {
  const { name, role, values, top } = panel;
  const { marks, base, heightOf } = scaleIn(panel);
  const bars = values.flatMap((value, index) => {
    if (value <= 0) return [];
    const height = Math.max(LEAST, heightOf(value));
    return [bar((index + 0.075) / values.length, base - height, 0.85 / values.length, height, role)];
  });
  const lines = marks.map((mark) => bar(0, base - heightOf(mark), 1, 1, 'rule'));
  return [text(0, top + 12, 'ink', name), ...lines, ...bars];
}

const compactNumber = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** Round whole numbers up to the highest value. */
function scaleOf(highest: number): { readonly end: number; readonly marks: readonly number[] } {
  const third = Math.max(1, highest / 3);
  const magnitude = 10 ** Math.floor(Math.log10(third));
  const step = [1, 2, 5, 10].map((digit) => digit * magnitude).find((size) => size >= third) as number;
  const count = Math.max(1, Math.ceil(highest / step));
  return { end: count * step, marks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** Minimum height of a bar above zero, in pixels. */
const LEAST = 2;
/** Maximum time labels; a narrow page hides every second one. */
const MAX_TIMES = 8;

type Role = 'ink' | 'muted' | 'rule' | 'failed' | 'success';

/** `left` and `width` are shares of the page's width. */
function bar(left: number, top: number, width: number, height: number, role: Role): Html {
  const [x, across] = [left, width].map((share) => `${rounded(100 * share)}%`) as [string, string];
  return html`<rect x="${x}" y="${rounded(top)}" width="${across}" height="${rounded(height)}" fill="${colorOf(role)}"/>`;
}

/** `isWide`: hidden on a narrow page. */
function text(left: number, y: number, role: Role, words: string, isWide = false): Html {
  const style = isWide ? html` class="wide"` : '';
  return html`<text x="${rounded(100 * left)}%" y="${rounded(y)}" fill="${colorOf(role)}"${style}>${words}</text>`;
}

function rounded(number: number): number {
  return Number(number.toFixed(2));
}

function colorOf(role: Role): Html {
  return new Html(`var(--${role})`);
}

/** Trusted HTML. All other text is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly Html[];

/** Escapes parts unless they are `Html`. Attribute values must be in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, at) => text + rendered(parts[at - 1] as Part) + string));
}

function rendered(part: Part): string {
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escaped(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text between tags or in quoted attributes. Makes control and bidirectional characters visible. */
export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Also escapes lone surrogates, which UTF-8 cannot represent. */
export function visible(text: string): string {
  return terminalSafe(text).replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    unicodeEscape,
  );
}
