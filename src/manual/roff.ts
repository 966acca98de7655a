/** Text in which no character acts on the formatter: see groff_char(7) for the minus, the quotes and the caret. */
export function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('…', '...')
    .replaceAll('–', '\\(en');
}

/** A line of running text; one that begins with a dot is no request. */
export function line(text: string): string {
  return escaped(text).replace(/^\./, '\\&.');
}

/** Lines that stay as they are, in the typewriter's font. */
export function literal(text: string): string {
  const lines = text.trimEnd().split('\n');
  return ['.EX', ...lines.map(line), '.EE'].join('\n');
}
