const PLAIN = /^[\x20-\x7e]*$/;
/** UTF-16 code units that are measured at once: the time of `Intl.Segmenter` grows with the square of the length. */
const PIECE = 1000;
let graphemes: Intl.Segmenter | undefined;
let stringWidth: ((text: string) => number) | undefined;

/** Loads the library that measures text beyond ASCII. `cellWidth` throws for such text until then. */
export async function loadWidths(): Promise<void> {
  stringWidth ??= (await import('string-width')).default;
}

/** Loads that library if any of the texts needs it: it takes longer to load than the rest of a plain table. */
export async function loadWidthsFor(texts: readonly string[]): Promise<void> {
  if (!texts.every((text) => PLAIN.test(text))) await loadWidths();
}

/** Returns the number of terminal columns of the text: two for a wide character, none for a combining one. */
export function cellWidth(text: string): number {
  // Nearly every cell is ASCII, for which counting is enough.
  if (PLAIN.test(text)) return text.length;
  if (!stringWidth) throw new Error('text beyond ASCII is measured before loadWidths()');
  if (text.length <= PIECE) return stringWidth(text);
  let width = 0;
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at);
    width += stringWidth(piece);
    at += piece.length;
  }
  return width;
}

/** Returns up to `PIECE` characters of the text, and cuts no character in two unless one is longer than that. */
function pieceAt(text: string, start: number): string {
  const end = start + PIECE;
  if (end >= text.length) return text.slice(start);
  // Half of a surrogate pair would count as a character of its own.
  const piece = text.slice(start, /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end);
  graphemes ??= new Intl.Segmenter();
  const last = graphemes.segment(piece).containing(piece.length - 1)?.index;
  return last ? piece.slice(0, last) : piece;
}

/** Returns the text, cut to `width` columns with `…` if it is wider. Never cuts a character in two. */
export function cutTo(text: string, width: number): string {
  if (cellWidth(text) <= width) return text;
  if (width <= 0) return '';
  if (PLAIN.test(text)) return `${text.slice(0, width - 1)}…`;
  let kept = '';
  let used = 0;
  // Creating the first one takes 15 ms.
  graphemes ??= new Intl.Segmenter();
  for (const { segment } of graphemes.segment(text)) {
    used += cellWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Returns the width of the widest text, at least 1. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, cellWidth(text)), 1);
}
