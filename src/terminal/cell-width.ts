let graphemes: Intl.Segmenter | undefined;
let stringWidth: ((text: string) => number) | undefined;

/** Loads the library that measures every script. `cellWidth` throws for text that needs it until then. */
export async function loadWidths(): Promise<void> {
  stringWidth ??= (await import('string-width')).default;
}

/** Loads that library if any of the texts needs it: it takes longer to load than the rest of a plain table. */
export async function loadWidthsFor(texts: readonly string[]): Promise<void> {
  if (texts.some((text) => simpleWidth(text) === undefined)) await loadWidths();
}

/** Returns the number of terminal columns of the text: two for a wide character, none for a combining one. */
export function cellWidth(text: string): number {
  const simple = simpleWidth(text);
  if (simple !== undefined) return simple;
  if (!stringWidth) throw new Error('text that only the library can measure is measured before loadWidths()');
  if (text.length <= PIECE) return stringWidth(text);
  let width = 0;
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at);
    width += cellWidth(piece);
    at += piece.length;
  }
  return width;
}

/** Returns the text, cut to `width` columns with `…` if it is wider. Never cuts a character in two. */
export function cutToWidth(text: string, width: number): string {
  // Of a long text only the beginning is looked at.
  const start = text.slice(0, Math.max(0, width) + PIECE);
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

/** Returns the width of the widest text, at least 1. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, cellWidth(text)), 1);
}

/** Breaks a text at spaces into lines of at most `width` columns; a longer word has a line of its own. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && cellWidth(last) + 1 + cellWidth(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * Ranges of letters and signs that a terminal shows in one column, or in two, whatever stands beside them: counting them
 * takes a hundredth of the library's time. A test compares all of them with the library.
 */
const NARROW = [
  0x20, 0x7e, 0xa1, 0xac, 0xae, 0x2ff, 0x386, 0x386, 0x388, 0x38a, 0x38e, 0x3a1, 0x3a3, 0x481, 0x48a, 0x52f,
  0x531, 0x556, 0x561, 0x587, 0x5d0, 0x5ea, 0x621, 0x64a, 0x10d0, 0x10ff, 0x1e00, 0x1eff, 0x2010, 0x2015,
  0x2018, 0x2027, 0x20a0, 0x20bf, 0x2500, 0x259f,
];
const WIDE = [0x3001, 0x3029, 0x3041, 0x3096, 0x30a1, 0x30ff, 0x3400, 0x4dbf, 0x4e00, 0x9fff, 0xac00, 0xd7a3];
let columns: Uint8Array | undefined;

/** Returns the width of a text that has only such letters, or else undefined. */
function simpleWidth(text: string): number | undefined {
  columns ??= columnsByCodeUnit();
  let width = 0;
  for (let at = 0; at < text.length; at++) {
    const more = columns[text.charCodeAt(at)] as number;
    if (more === 0) return undefined;
    width += more;
  }
  return width;
}

function columnsByCodeUnit(): Uint8Array {
  const table = new Uint8Array(0x10000);
  for (const [index, ranges] of [NARROW, WIDE].entries())
    for (let at = 0; at + 1 < ranges.length; at += 2)
      table.fill(index + 1, ranges[at], (ranges[at + 1] as number) + 1);
  return table;
}

/** UTF-16 code units that are measured at once: the time of `Intl.Segmenter` grows with the square of the length. */
const PIECE = 1000;

/** Returns up to `PIECE` characters of the text, and cuts no character in two unless one is longer than that. */
function pieceAt(text: string, start: number): string {
  const end = start + PIECE;
  if (end >= text.length) return text.slice(start);
  // Half of a surrogate pair would count as a character of its own.
  const piece = text.slice(start, /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end);
  const last = segmenter()
    .segment(piece)
    .containing(piece.length - 1)?.index;
  return last ? piece.slice(0, last) : piece;
}

function* charactersOf(text: string): Generator<string> {
  if (simpleWidth(text) !== undefined) yield* text;
  else for (const { segment } of segmenter().segment(text)) yield segment;
}

/** Creating the first one takes 15 ms. */
function segmenter(): Intl.Segmenter {
  graphemes ??= new Intl.Segmenter();
  return graphemes;
}
