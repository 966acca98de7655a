import type { Context, Output } from '../context.ts';
import type { FieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { Items, type ListKind } from '../items/items.ts';
import { UnseenFields } from '../items/near-field.ts';
import { paletteOf, plain } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { UTC } from '../time/time-zone.ts';
import { createCsvWriter } from './csv.ts';
import type { FormatOptions, ItemWriter } from './format-options.ts';
import { createTableWriter } from './item-table.ts';
import { createJqWriter } from './jq.ts';
import { createJsonWriter, createPrettyWriter } from './json.ts';
import { createMarkdownWriter } from './markdown.ts';

type WriterContext = Pick<Context, 'stdout' | 'signal' | 'memory'>;

/** Loads only the libraries that the format needs. */
export async function createItemWriter(
  options: FormatOptions,
  context: WriterContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { fields, areFieldsSaved, list } = options;
  if (fields) {
    const writer = await writerOf(options, context, reporter);
    return areFieldsSaved ? writer : withFieldWarnings(writer, fields, list, reporter);
  }
  const late = new Set<string>();
  const onLate = (name: string) => {
    if (late.size === 0)
      reporter.warning(
        `a later page has ${name}, which the first did not: it has no column; name the columns with --fields`,
        { kind: 'incomplete' },
      );
    // Names that are ids would be unlimited.
    late.add(late.size < MAX_LATE || late.has(name) ? name : 'others');
  };
  const writer = await writerOf({ ...options, onLate }, context, reporter);
  const end = async () => {
    await writer.end?.();
    const [, ...others] = late;
    if (others.length > 0)
      reporter.warning(`later pages also have ${others.join(', ')}: they have no columns either`, {
        kind: 'incomplete',
      });
  };
  return { ...writer, end };
}

/** True for a table that chooses its columns, which shows the addresses of subscriptions. */
export function takesNames({ format, fields }: Pick<FormatOptions, 'format' | 'fields'>): boolean {
  return format === 'table' && !fields;
}

/** Maximum late fields in the warning. */
const MAX_LATE = 20;

type CreateWriter = (
  options: FormatOptions,
  stdout: Output,
  reporter: Reporter,
) => ItemWriter | Promise<ItemWriter>;

const writers: Readonly<Record<FormatOptions['format'], CreateWriter>> = {
  table: createTableWriter,
  json: async (options, stdout, { stdoutColor }) =>
    createJsonWriter('json', options, stdout, await paletteOf(stdoutColor)),
  ndjson: (options, stdout) => createJsonWriter('ndjson', options, stdout, plain),
  csv: createCsvWriter,
  markdown: createMarkdownWriter,
  pretty: async (_, stdout, { stdoutColor }) => createPrettyWriter(stdout, await paletteOf(stdoutColor)),
};

async function writerOf(
  options: FormatOptions,
  context: WriterContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { fields, zone, jq, format } = options;
  if (jq === undefined) return await writers[format](options, context.stdout, reporter);
  return await createJqWriter({ program: jq, fields, zone, perItem: format === 'ndjson' }, context, reporter);
}

/** Warns at the end of fields that no item had, which may be misspelt. */
function withFieldWarnings(
  writer: ItemWriter,
  fields: readonly FieldPath[],
  list: ListKind,
  reporter: Pick<Reporter, 'warning'>,
): ItemWriter {
  const reader = new FieldReader(fields, UTC);
  const unseen = new UnseenFields(fields, reader);
  return {
    ...writer,
    write: async (items, isLast) => {
      unseen.see(items);
      for (let item = 0; item < items.count && unseen.size > 0; item++) {
        reader.read(items.bytes, items.start(item));
        unseen.noteItem();
      }
      await writer.write(items, isLast);
    },
    end: async () => {
      await writer.end?.();
      for (const doubt of unseen.doubts(list)) reporter.warning(`--fields: ${doubt}`, { kind: 'usage' });
    },
  };
}

/** Indented and coloured on a terminal, otherwise as `piped`. With `jq`, prints the program's results. */
export async function printJson(
  value: unknown,
  jq: string | undefined,
  context: WriterContext,
  reporter: Reporter,
  piped = jsonText(value),
): Promise<void> {
  await printItem(Items.of([Buffer.from(JSON.stringify(value))]), jq, context, reporter, `${piped}\n`);
}

export async function printItem(
  items: Items,
  jq: string | undefined,
  context: WriterContext,
  reporter: Reporter,
  piped: string | Buffer,
): Promise<void> {
  const { stdout } = context;
  if (jq !== undefined) {
    const writer = await createJqWriter({ program: jq, perItem: true }, context, reporter);
    await writer.write(items);
  } else if (stdout.isTerminal) {
    await createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor)).write(items);
  } else {
    await stdout.write(piped);
  }
}

/** Flat objects go on one line. */
function jsonText(value: unknown): string {
  const nested = Object.values(value as object).some((inner) => inner !== null && typeof inner === 'object');
  return JSON.stringify(value, undefined, nested ? 2 : undefined);
}
