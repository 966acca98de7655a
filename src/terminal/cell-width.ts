let graphemes: Intl.Segmenter | undefined;
let stringWidth: ((text: string) => number) | undefined;

/** Loads the library that measures every script. Until then `cellWidth` throws for texts that need it. */
export async function loadWidths(): Promise<void> {
  stringWidth ??= (await import('string-width')).default;
}

/** Loads the library only if needed: it takes longer to load than the rest of a plain table. */
export async function loadWidthsFor(texts: readonly string[]): Promise<void> {
  if (!texts.every((text) => SIMPLE.test(text))) await loadWidths();
}

/**
 * Returns the number of terminal columns of a text: two for a wide character, none for a combining one. Half
 * of a surrogate pair is printed as U+FFFD. Very long texts are measured exactly only at their beginning.
 */
export function cellWidth(text: string): number {
  if (!text.isWellFormed()) return cellWidth(text.toWellFormed());
  if (SIMPLE.test(text)) return text.length + text.replace(NARROW_PARTS, '').length;
  if (!stringWidth) throw new Error('text that only the library can measure is measured before loadWidths()');
  let width = 0;
  let at = 0;
  while (at < text.length && width < MEASURED_COLUMNS && at < MEASURED_CHARACTERS) {
    const piece = pieceAt(text, at);
    width += stringWidth(piece);
    at += piece.length;
  }
  return width + text.length - at;
}

/**
 * Columns, and characters, after which each character counts as one column: no terminal is wider, and the
 * library takes some 20 µs for a character.
 */
const MEASURED_COLUMNS = 2_000;
const MEASURED_CHARACTERS = 10_000;

/** Cuts a text to `width` columns with `…` if it is wider. Never splits a character. */
export function cutToWidth(text: string, width: number): string {
  // Examine only the beginning of a long text.
  const start = text.slice(0, Math.max(0, width) + PIECE_CHARACTERS);
  if (start === text && cellWidth(text) <= width) return text;
  if (width <= 0) return '';
  let kept = '';
  let used = 0;
  for (const character of charactersOf(start)) {
    used += cellWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Like `cutToWidth`, but cuts the middle: texts that differ at either end stay different. */
export function cutMiddle(text: string, width: number): string {
  // Examine only the ends of a long text.
  const looked = Math.max(0, width) + PIECE_CHARACTERS;
  if (text.length <= looked && cellWidth(text) <= width) return text;
  const most = Math.floor((width - 1) / 2);
  let end = '';
  let used = 0;
  for (const character of [...charactersOf(text.slice(-looked))].reverse()) {
    used += cellWidth(character);
    if (used > most) break;
    end = character + end;
  }
  return cutToWidth(text, width - cellWidth(end)) + end;
}

export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, cellWidth(text)), 1);
}

/**
 * Breaks a text at spaces, but not within a time, into lines of at most `width` columns; a longer word gets
 * its own line.
 */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/ (?!\d\d:\d\d)/)) {
    const last = lines.at(-1);
    if (last !== undefined && cellWidth(last) + 1 + cellWidth(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * Characters that take one column, or two, in every context: counting them takes a hundredth of the library's
 * time. A test compares all of them with the library.
 */
const NARROW =
  '\\x20-\\x7e\\xa1-\\xac\\xae-\\u02ff\\u0388-\\u038a\\u038e-\\u03a1\\u03a3-\\u0481\\u048a-\\u052f\\u1e00-\\u1eff\\u2010-\\u2015\\u2018-\\u2027\\u20a0-\\u20bf\\u2500-\\u259f\\ufffd';
const WIDE = '\\u3001-\\u3029\\u3041-\\u3096\\u30a1-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3';
const SIMPLE = new RegExp(`^[${NARROW}${WIDE}]*$`);
const NARROW_PARTS = new RegExp(`[${NARROW}]+`, 'g');

/** UTF-16 code units measured at once: the time of `Intl.Segmenter` grows with the square of the length. */
const PIECE_CHARACTERS = 1000;

/** Returns up to `PIECE_CHARACTERS` characters, without splitting one unless it is longer than that. */
function pieceAt(text: string, start: number): string {
  const end = start + PIECE_CHARACTERS;
  if (end >= text.length) return text.slice(start);
  // Half of a surrogate pair would count as a separate character.
  const piece = text.slice(start, /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end);
  const last = segmenter()
    .segment(piece)
    .containing(piece.length - 1)?.index;
  return last ? piece.slice(0, last) : piece;
}

function* charactersOf(text: string): Generator<string> {
  if (SIMPLE.test(text)) yield* text;
  else for (const { segment } of segmenter().segment(text)) yield segment;
}

/** Creating the first one takes 15 ms. */
function segmenter(): Intl.Segmenter {
  graphemes ??= new Intl.Segmenter();
  return graphemes;
}
