/**
 * Escapes control characters as `\u` and four hex digits in text for people, including in files and pipes,
 * since a log is read on a terminal later. JSON, NDJSON and CSV are escaped only for a terminal.
 */
export function terminalSafe(text: string): string {
  return text.replace(ACTING, unicodeEscape);
}

/** Also escapes tabs and line feeds, for text that must stay on one line. */
export function terminalSafeLine(text: string): string {
  return terminalSafe(text).replace(/[\t\n]/g, unicodeEscape);
}

/** For text after a label such as `error:`: also indents further lines, so that none looks like a label. */
export function terminalSafeBlock(text: string): string {
  return terminalSafe(text).replaceAll('\n', '\n  ');
}

/**
 * Breaks lines wider than `columns` at spaces. Text to be copied stays whole: a word, a time, a command in
 * backquotes or at the end of a line. Further lines get the indentation of the first, and `indent`.
 */
export function fittedLines(text: string, columns = Number.POSITIVE_INFINITY, indent = ''): string {
  return text
    .split('\n')
    .map((line) => (line.length <= columns ? line : brokenLine(line, columns, indent)))
    .join('\n');
}

function brokenLine(line: string, columns: number, indent: string): string {
  const start = `${/^ */.exec(line)?.[0]}${indent}`;
  const lines = [''];
  for (const [spaced, word] of line.matchAll(COPIED)) {
    const joined = `${lines.at(-1)}${spaced}`;
    const next = `${start}${word}`;
    // The terminal wraps a word that is longer than any line.
    if (joined.length > columns && next.length <= columns) lines.push(next);
    else lines[lines.length - 1] = joined;
  }
  return lines.join('\n');
}

const COPIED = / *((?<=^|: )hooktrail .*|[^ `]*`[^`]*`[^ ]*|[^ ]+(?: \d\d:\d\d[^ ]*)?| +)/g;

export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Characters that control a terminal or reorder text: C0 except tab and line feed, DEL, C1, and the
 * bidirectional marks, embeddings, overrides and isolates. Also those with different widths in different
 * terminals: the soft hyphen, the Hangul fillers and the Mongolian vowel separator.
 */
const ACTING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200e\u200f\u202a-\u202e\u2066-\u2069\u3164\uffa0]/g;

export function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** Groups thousands and keeps every digit; numbers with an exponent stay unchanged. */
export function groupedDigits(number: string): string {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(number) ?? [];
  if (whole === undefined) return number;
  return sign + BigInt(whole).toLocaleString('en-US') + fraction;
}

export function eventsText(count: number): string {
  return `${grouped(count)} ${count === 1 ? 'event' : 'events'}`;
}

/** Formats a share (0 to 1) as a percentage. Only exact values are shown as 0 % or 100 %. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.1) return '<0.1 %';
  if (value > 99.9) return '>99.9 %';
  return `${value.toFixed(1)} %`;
}

const UNITS: readonly (readonly [name: string, milliseconds: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** Formats a span of time in the largest unit with at least two: `29 minutes`, `90 seconds`. */
export function durationWords(milliseconds: number): string {
  const [name, size] = UNITS.find(([, size]) => milliseconds / size >= 2) ?? ['second', 1000];
  const number = Math.round(milliseconds / size);
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}

export function shortened(text: string, length: number): string {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}

/** Returns a line whose cut texts end in `~`, for a terminal that shows ASCII alone. */
export function withAsciiCuts(line: string): string {
  return line.replaceAll('…', '~');
}
