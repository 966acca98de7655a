const PLAIN = /^[\x20-\x7e]*$/;
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
  return stringWidth(text);
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
