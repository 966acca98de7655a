import { membersOf } from '../json/item-columns.ts';
import type { FieldPath } from '../json/item-fields.ts';
import { createCursor, MISSING } from '../json/item-fields.ts';
import type { Items, ItemWriter, ListKind } from '../json/items.ts';
import { suggestion } from '../settings/command-words.ts';
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
    case 'pretty': {
      const { createPrettyWriter } = await import('./pretty-json.ts');
      return createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor));
    }
    case 'csv': {
      const { createCsvWriter } = await import('./csv-items.ts');
      return createCsvWriter(options, stdout, reporter);
    }
    case 'table': {
      const { createTableWriter } = await import('./table.ts');
      return createTableWriter(options, stdout, reporter);
    }
  }
}

/** Returns a writer that also warns at the end of fields that no item had, since their names may be misspelt. */
export function withFieldWarnings(
  writer: ItemWriter,
  fields: readonly FieldPath[],
  list: ListKind,
  reporter: Pick<Reporter, 'warning'>,
): ItemWriter {
  let unseen = fields.filter(({ steps }) => steps.length > 0);
  let names: readonly string[] = [];
  const see = (items: Items) => {
    if (names.length === 0) names = [...membersOf(items).names.keys()];
    const cursor = createCursor(unseen);
    for (let item = 0; item < items.count && unseen.length > 0; item++) {
      cursor.read(items.bytes, items.start(item));
      if (unseen.every((_, path) => cursor.starts[path] === MISSING)) continue;
      unseen = unseen.filter((_, path) => cursor.starts[path] === MISSING);
      see(items);
      return;
    }
  };
  return {
    ...writer,
    write: async (items, isLast) => {
      if (items.count > 0 && unseen.length > 0) see(items);
      await writer.write(items, isLast);
    },
    end: async () => {
      await writer.end();
      if (names.length === 0) return;
      for (const { text, steps } of unseen) {
        const [first = ''] = steps;
        const meant = names.includes(first) ? undefined : suggestion(first, names);
        const what = list === 'events' ? 'event' : 'event type';
        reporter.warning(`--fields: no ${what} has the field '${text}'${meant ? `; ${meant}` : ''}`);
      }
    },
  };
}
