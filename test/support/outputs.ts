import { adviceText } from '../../src/advice.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { createItemWriter } from '../../src/formats/item-writer.ts';
import { Items } from '../../src/items/items.ts';
import { plain } from '../../src/terminal/palette.ts';
import type { Reporter } from '../../src/terminal/reporter.ts';
import { createContext, fakeOutput } from './context.ts';

export { type FakeOutput, fakeOutput } from './context.ts';

export interface FakeReporter extends Reporter {
  /** `notice: …` and `warning: …`, in order. */
  readonly said: string[];
}

/** A reporter, without colour for standard output unless a level is given. */
export function fakeReporter(stdoutColor: Reporter['stdoutColor'] = 0): FakeReporter {
  const said: string[] = [];
  return {
    said,
    quiet: false,
    verbose: false,
    debug: false,
    stdoutColor,
    takesUnicode: true,
    palette: plain,
    runFlags: {},
    say: (text) => void said.push(text),
    command: (line) => void said.push(line),
    notice: (text) => void said.push(`notice: ${text}`),
    success: (text) => void said.push(`success: ${text}`),
    warning: (text) => void said.push(`warning: ${text}`),
    trace: () => {},
  };
}

/** A reporter that gives notices to `say`, and warnings with their kind and what to do next. */
export function reporterTo(say: (line: string) => void): Reporter {
  return {
    ...fakeReporter(),
    notice: (text) => say(`notice: ${text}`),
    warning: (text, { kind, next }) => {
      const step = next === undefined ? '' : `; ${adviceText(next, {})}`;
      say(`${kind}: ${text}${step}`);
    },
  };
}

/** Returns items as the page scanner does: inside an array, with `between` between two of them. */
export function pageOf(items: readonly string[], between = ','): Items {
  const spans = new Uint32Array(2 * items.length);
  const texts = ['{"items":['];
  let at = Buffer.byteLength(texts[0] as string);
  for (const [index, item] of items.entries()) {
    const lead = index > 0 ? between : '';
    spans[2 * index] = at + Buffer.byteLength(lead);
    at += Buffer.byteLength(lead + item);
    spans[2 * index + 1] = at;
    texts.push(lead, item);
  }
  return new Items(Buffer.from(`${texts.join('')}]}`), spans);
}

interface Setting extends Partial<FormatOptions> {
  /** Absent: a pipe. */
  readonly width?: number | undefined;
  readonly color?: 0 | 1;
  /** True if the writer is told which page is the last. */
  readonly isLast?: boolean;
}

/** Prints pages of items, as a table unless another format is given. Returns the text and the messages. */
export async function print(
  pages: readonly (Items | readonly string[])[],
  { width, color = 0, isLast = false, ...more }: Setting = {},
) {
  const stdout = fakeOutput(width);
  const reporter = fakeReporter(color);
  const writer = await createItemWriter(
    { format: 'table', list: 'events', ...more },
    createContext({ stdout }),
    reporter,
  );
  for (const page of pages)
    await writer.write(page instanceof Items ? page : pageOf(page), isLast && page === pages.at(-1));
  await writer.end?.();
  return { text: stdout.text, writes: stdout.writes, said: reporter.said };
}

/**
 * Reads CSV by RFC 4180's grammar (section 2), strictly: CR LF ends every line, quotes enclose whole fields.
 */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  for (let at = 0; at < text.length; ) {
    const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
    field.lastIndex = at;
    const [whole = '', quoted, bare = '', end] = field.exec(text) ?? [];
    if (end === undefined) throw new Error(`no field and its end at ${at}`);
    record.push(quoted?.replaceAll('""', '"') ?? bare);
    at += whole.length;
    if (end === ',') continue;
    records.push(record);
    record = [];
  }
  if (record.length > 0) throw new Error('the last line does not end');
  return records;
}
