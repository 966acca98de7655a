let graphemes: Intl.Segmenter | undefined;
let stringWidth: ((text: string) => number) | undefined;

/** Loads the library that measures every script. `cellWidth` throws for text that needs it until then. */
export async function loadWidths(): Promise<void> {
  stringWidth ??= (await import('string-width')).default;
}

/**
 * Loads that library if any of the texts needs it: it takes longer to load than the rest of a plain table.
 */
export async function loadWidthsFor(texts: readonly string[]): Promise<void> {
  if (!texts.every((text) => SIMPLE.test(text))) await loadWidths();
}

/**
 * Returns the number of terminal columns of the text: two for a wide character, none for a combining one.
 * Half of a surrogate pair is printed as U+FFFD. Of a text that no terminal has room for, only the
 * beginning is measured exactly.
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
 * No terminal is wider: behind that, and behind so many characters, each counts as one column. The library
 * takes some 20 µs for a character.
 */
const MEASURED_COLUMNS = 2_000;
const MEASURED_CHARACTERS = 10_000;

/** Returns the text, cut to `width` columns with `…` if it is wider. Never cuts a character in two. */
export function cutToWidth(text: string, width: number): string {
  // Of a long text only the beginning is looked at.
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

/** The same, but cut in its middle: texts that differ at either end stay different. */
export function cutMiddle(text: string, width: number): string {
  // Of a long text only its ends are looked at.
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

/** Returns the width of the widest text, at least 1. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, cellWidth(text)), 1);
}

/**
 * Breaks a text at spaces, but not within a time, into lines of at most `width` columns; a longer word has
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
 * Letters and signs that a terminal shows in one column, or in two, whatever stands beside them: counting
 * them takes a hundredth of the library's time. A test compares all of them with the library.
 */
const NARROW =
  '\\x20-\\x7e\\xa1-\\xac\\xae-\\u02ff\\u0388-\\u038a\\u038e-\\u03a1\\u03a3-\\u0481\\u048a-\\u052f\\u1e00-\\u1eff\\u2010-\\u2015\\u2018-\\u2027\\u20a0-\\u20bf\\u2500-\\u259f\\ufffd';
const WIDE = '\\u3001-\\u3029\\u3041-\\u3096\\u30a1-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3';
const SIMPLE = new RegExp(`^[${NARROW}${WIDE}]*$`);
const NARROW_PARTS = new RegExp(`[${NARROW}]+`, 'g');

/**
 * UTF-16 code units that are measured at once: the time of `Intl.Segmenter` grows with the square of the
 * length.
 */
const PIECE_CHARACTERS = 1000;

/**
 * Returns up to `PIECE_CHARACTERS` characters of the text, and cuts no character in two unless one is longer
 * than that.
 */
function pieceAt(text: string, start: number): string {
  const end = start + PIECE_CHARACTERS;
  if (end >= text.length) return text.slice(start);
  // Half of a surrogate pair would count as a character of its own.
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
