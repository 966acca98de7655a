/** Reads CSV by RFC 4180's grammar (section 2), strictly: CR LF ends every line, quotes enclose whole fields. */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      let field = '';
      if (text[at] === '"') {
        for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
          if (at >= text.length) throw new Error('a quote is not closed');
          if (text[at] === '"') at++;
          field += text[at];
        }
        at++;
      } else {
        while (at < text.length && text[at] !== ',' && text[at] !== '\r') {
          if (text[at] === '"' || text[at] === '\n') throw new Error(`stray character at ${at}`);
          field += text[at++];
        }
      }
      record.push(field);
      if (text[at] !== ',') break;
      at++;
    }
    if (text.slice(at, at + 2) !== '\r\n') throw new Error(`no line end at ${at}`);
    at += 2;
    records.push(record);
  }
  return records;
}
