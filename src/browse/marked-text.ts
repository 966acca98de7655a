const STYLE = /(\u001b\[[\d;]*m)/;

export function markTexts(line: string, texts: readonly string[], mark: (text: string) => string): string {
  const wanted = texts.filter((text) => text !== '');
  if (wanted.length === 0) return line;
  // The longest first: one may begin with a shorter one.
  const longestFirst = wanted.toSorted((a, b) => b.length - a.length);
  const exact = longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  const any = new RegExp(exact.join('|'), 'giu');
  const pieces = line.split(STYLE);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : piece.replace(any, mark))).join('');
}
