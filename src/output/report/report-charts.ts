import type { Stats } from '../../events/statistics.ts';
import { terminalSafe, unicodeEscape } from '../../terminal/terminal-text.ts';
import { timeLabels } from '../statistics-text.ts';

export interface Rank {
  readonly name: string;
  /** The name of the bar. */
  readonly value: number;
  /** The value as text. */
  readonly figure: string;
  /** Shown in parentheses after the name. */
  readonly note?: string;
}

/** Widths of the two drawings of each chart, for wide and narrow pages. The style sheet shows one of them. */
const WIDE = 1000;
const NARROW = 360;
/** The smallest size of a bar whose value is not zero. */
const LEAST = 2;
/** The most that a character of a label takes, in any font. */
const CHARACTER = 8;

function bothWidths(draw: (width: number) => Html): Html {
  return html`<div class="chart wide">${draw(WIDE)}</div><div class="chart narrow" aria-hidden="true">${draw(NARROW)}</div>`;
}

/** An SVG image that fills the width of the page. `label` describes it to screen readers. */
function drawing(width: number, height: number, label: string, shapes: readonly Html[]): Html {
  return html`<svg role="img" aria-label="${label}" focusable="false" viewBox="0 0 ${width} ${height}">${shapes}</svg>`;
}

type Role = 'ink' | 'muted' | 'rule' | 'failed' | 'success';

function bar(x: number, y: number, width: number, height: number, role: Role): Html {
  const [left, top, across, down] = [x, y, width, height].map((number) => Number(number.toFixed(2)));
  return html`<rect x="${left as number}" y="${top as number}" width="${across as number}" height="${down as number}" fill="${colorOf(role)}"/>`;
}

function text(x: number, y: number, role: Role, words: string, anchor: 'start' | 'middle' | 'end'): Html {
  return html`<text x="${Number(x.toFixed(2))}" y="${y}" fill="${colorOf(role)}" text-anchor="${anchor}">${words}</text>`;
}

function colorOf(role: Role): Html {
  return new Html(`var(--${role})`);
}

/** Draws horizontal bars, with each name above its bar so that long names fit on a phone too. */
export function rankChart(title: string, ranks: readonly Rank[]): Html {
  const row = 34;
  const full = Math.max(...ranks.map(({ value }) => value));
  const label = `${title}: ${ranks.length} bars, the first is ${oneLine(ranks[0]?.name ?? '')}`;
  return bothWidths((width) => {
    const shapes = ranks.flatMap(({ name, value, figure, note }, index) => {
      const top = index * row;
      const shownName = shortened(oneLine(name), width === WIDE ? 110 : 30);
      const length = value > 0 ? Math.max(LEAST, (value / full) * width) : 0;
      return [
        text(0, top + 14, 'ink', `${figure}\u2002${shownName}${note ? `\u2002(${note})` : ''}`, 'start'),
        bar(0, top + 20, length, 8, 'failed'),
      ];
    });
    return drawing(width, ranks.length * row, label, shapes);
  });
}

function oneLine(name: string): string {
  return visible(name).replace(/\s+/g, ' ');
}

interface Panel {
  readonly name: string;
  readonly role: Role;
  readonly values: readonly number[];
}

const [LEFT, RIGHT, PANEL, TITLE, AXIS] = [56, 12, 138, 30, 26];

/** Draws failures over time and below them, on a scale of their own, the deliveries that went well. */
export function timeChart(stats: Stats): Html {
  const clock = timeLabels(stats.buckets, stats.window.zone);
  const labels = stats.buckets.map(clock.label);
  const failed: Panel = {
    name: 'failed',
    role: 'failed',
    values: stats.buckets.map((bucket) => bucket.failed ?? 0),
  };
  const delivered: Panel = {
    name: 'delivered',
    role: 'success',
    values: stats.buckets.map((bucket) => bucket.success ?? 0),
  };
  const panels = stats.success === null ? [failed] : [failed, delivered];
  const label = `${panels.map(({ name }) => name).join(' and ')} events over time (${clock.title})`;
  const bottom = panels.length * (PANEL + TITLE);
  return bothWidths((width) => {
    const slot = (width - LEFT - RIGHT) / labels.length;
    const shapes = panels.flatMap((panel, index) => panelShapes(panel, index * (PANEL + TITLE), width, slot));
    const room = ((labels[0]?.length ?? 0) + 2) * CHARACTER;
    const every = Math.ceil(room / slot);
    const times = labels.flatMap((time, index) => {
      const middle = LEFT + (index + 0.5) * slot;
      const isShown = index % every === 0 && (index === 0 || middle + room / 2 <= width + CHARACTER);
      return isShown ? [text(middle, bottom + 18, 'muted', time, 'middle')] : [];
    });
    return drawing(width, bottom + AXIS, label, [...shapes, ...times]);
  });
}

function panelShapes({ name, role, values }: Panel, top: number, width: number, slot: number): Html[] {
  const scale = scaleOf(Math.max(...values));
  const base = top + TITLE + PANEL - 12;
  const heightOf = (value: number) => (value / scale.end) * (PANEL - 12);
  const lines = scale.marks.flatMap((mark) => [
    bar(LEFT, base - heightOf(mark), width - LEFT - RIGHT, 1, 'rule'),
    text(LEFT - 8, base - heightOf(mark) + 4, 'muted', compactNumber.format(mark), 'end'),
  ]);
  const bars = values.flatMap((value, index) => {
    if (value <= 0) return [];
    const height = Math.max(LEAST, heightOf(value));
    return [bar(LEFT + (index + 0.075) * slot, base - height, slot * 0.85, height, role)];
  });
  return [text(8, top + 16, 'ink', name, 'start'), ...lines, ...bars];
}

const compactNumber = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** Returns a scale of round whole numbers that reaches the highest value. */
function scaleOf(highest: number): { readonly end: number; readonly marks: readonly number[] } {
  const third = Math.max(1, highest / 3);
  const magnitude = 10 ** Math.floor(Math.log10(third));
  const step = [1, 2, 5, 10].map((digit) => digit * magnitude).find((size) => size >= third) as number;
  const count = Math.max(1, Math.ceil(highest / step));
  return { end: count * step, marks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** Text that is HTML already. All other text is escaped when it is put into a page. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = Html | string | number | readonly Html[];

/** An HTML template. Parts are escaped unless they are `Html`. Attribute values must be in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + rendered(parts[index - 1] as Part) + string),
  );
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

/** Escapes text for HTML, between tags or in a quoted attribute. Control and bidirectional characters become visible escapes. */
export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Makes control and bidirectional characters visible, and lone surrogates, which UTF-8 cannot hold. */
export function visible(text: string): string {
  return terminalSafe(text).replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    unicodeEscape,
  );
}

/** Returns the text, cut to `length` characters with an ellipsis if it is longer. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
