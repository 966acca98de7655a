import type { ItemWriter } from '../items/items.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { FormatOptions, ItemContext } from './item-writer.ts';

/** Creates the writer of a format, and loads the libraries of that format only. */
export async function createItemWriter(
  options: FormatOptions,
  context: ItemContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const writer = await writerOf(options, context, reporter);
  if (!options.fields) return writer;
  const { withFieldWarnings } = await import('./unknown-fields.ts');
  return withFieldWarnings(writer, options.fields, options.list, reporter);
}

async function writerOf(
  options: FormatOptions,
  context: ItemContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { stdout } = context;
  const { fields, jq } = options;
  if (jq !== undefined) {
    const { createJqWriter } = await import('./jq-items.ts');
    return createJqWriter({ program: jq, fields, perItem: options.format === 'ndjson' }, stdout, reporter);
  }
  switch (options.format) {
    case 'json':
    case 'ndjson': {
      const { createJsonWriter } = await import('./json-items.ts');
      return createJsonWriter(options.format, fields, stdout, await paletteOf(reporter.stdoutColor));
    }
    case 'csv': {
      const { createCsvWriter } = await import('./csv.ts');
      return createCsvWriter(options, stdout, reporter);
    }
    case 'table': {
      const { createTableWriter } = await import('./table-items.ts');
      return createTableWriter(options, stdout, reporter);
    }
  }
}
