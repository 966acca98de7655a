/** The width that every terminal has. */
const COLUMNS = 80;

/** Two columns, the second aligned and broken into lines where it is long. */
export function aligned(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.flatMap(([left, right]) =>
    broken(right, COLUMNS - width - 4).map(
      (line, index) => `  ${(index === 0 ? left : '').padEnd(width)}  ${line}\n`,
    ),
  );
  return lines.join('');
}

function broken(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
