import type { Context, Output } from '../context.ts';
import type { FieldPath } from '../json/item-fields.ts';
import { createCursor, MISSING, noSuchField } from '../json/item-fields.ts';
import { Items, type ItemWriter, type ListKind } from '../json/items.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { createCsvWriter } from './csv.ts';
import type { FormatOptions } from './format-flags.ts';
import { createJqWriter } from './jq.ts';
import { createJsonWriter, createPrettyWriter } from './json.ts';
import { createMarkdownWriter } from './markdown.ts';
import { createTableWriter } from './table.ts';

/** Creates the writer of a format, which loads the libraries of that format only. */
export async function createItemWriter(
  options: FormatOptions,
  { stdout }: Pick<Context, 'stdout'>,
  reporter: Reporter,
): Promise<ItemWriter> {
  const writer = await writerOf(options, stdout, reporter);
  if (!options.fields || options.areFieldsSaved) return writer;
  return withFieldWarnings(writer, options.fields, options.list, reporter);
}

async function writerOf(options: FormatOptions, stdout: Output, reporter: Reporter): Promise<ItemWriter> {
  const { fields, jq } = options;
  if (jq !== undefined)
    return createJqWriter({ program: jq, fields, perItem: options.format === 'ndjson' }, stdout, reporter);
  switch (options.format) {
    case 'json':
    case 'ndjson':
      return createJsonWriter(options.format, fields, stdout, await paletteOf(reporter.stdoutColor));
    case 'pretty':
      return createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor));
    case 'csv':
      return createCsvWriter(options, stdout, reporter);
    case 'markdown':
      return createMarkdownWriter(options, stdout);
    case 'table':
      return createTableWriter(options, stdout, reporter);
  }
}

/** Returns a writer that also warns at the end of fields that no item had, since their names may be misspelt. */
function withFieldWarnings(
  writer: ItemWriter,
  fields: readonly FieldPath[],
  list: ListKind,
  reporter: Pick<Reporter, 'warning'>,
): ItemWriter {
  const cursor = createCursor(fields);
  const unseen = new Set(fields.keys());
  let sample: Items | undefined;
  return {
    ...writer,
    write: async (items, isLast) => {
      if (items.count > 0) sample ??= items;
      for (let item = 0; item < items.count && unseen.size > 0; item++) {
        cursor.read(items.bytes, items.start(item));
        for (const path of unseen) if (cursor.starts[path] !== MISSING) unseen.delete(path);
      }
      await writer.write(items, isLast);
    },
    end: async () => {
      await writer.end();
      if (!sample) return;
      for (const path of unseen)
        reporter.warning(`--fields: ${noSuchField(fields[path] as FieldPath, sample, list)}`);
    },
  };
}

/**
 * Prints a value made by the program as JSON: indented and coloured on a terminal, elsewhere as `piped`. With `jq`,
 * prints the program's results.
 */
export async function printJson(
  value: unknown,
  jq: string | undefined,
  { stdout }: Pick<Context, 'stdout'>,
  reporter: Reporter,
  piped = jsonText(value),
): Promise<void> {
  const items = Items.of([Buffer.from(JSON.stringify(value))]);
  await printItem(items, jq, stdout, reporter, `${piped}\n`);
}

/** The same for a value that is text already. */
export async function printItem(
  items: Items,
  jq: string | undefined,
  stdout: Output,
  reporter: Reporter,
  piped: string | Buffer,
): Promise<void> {
  if (jq !== undefined) {
    const writer = await createJqWriter({ program: jq, fields: undefined, perItem: true }, stdout, reporter);
    await writer.write(items);
  } else if (stdout.isTerminal) {
    await createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor)).write(items);
  } else {
    await stdout.write(piped);
  }
}

/** A flat object on one line, anything deeper indented. */
function jsonText(value: unknown): string {
  const nested = Object.values(value as object).some(
    (member) => member !== null && typeof member === 'object',
  );
  return JSON.stringify(value, undefined, nested ? 2 : undefined);
}
