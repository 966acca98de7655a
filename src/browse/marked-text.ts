/** A sequence that changes how a terminal draws what follows (ECMA-48, SGR). */
const STYLE = /(\u001b\[[\d;]*m)/;

/**
 * Marks each place of a drawn line where one of some texts stands, in any case of letters. Sequences of style
 * are no text.
 */
export function markTexts(line: string, texts: readonly string[], mark: (text: string) => string): string {
  const wanted = texts.filter((text) => text !== '');
  if (wanted.length === 0) return line;
  // A longer one first: it may begin with a shorter one.
  const longestFirst = wanted.toSorted((a, b) => b.length - a.length);
  const exact = longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  const any = new RegExp(exact.join('|'), 'giu');
  const pieces = line.split(STYLE);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : piece.replace(any, mark))).join('');
}
