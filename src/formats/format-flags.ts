import type { Command, Option } from 'commander';
import type { StrictCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  type FilterFlags,
  type FiltersCall,
  filtersOf,
} from '../filters/filter-flags.ts';
import { CONCURRENCY } from '../filters/reading-flags.ts';
import { type FieldPath, parseFieldPaths } from '../items/field-path.ts';
import type { ListKind } from '../items/items.ts';
import { fileName, oneOf, orList } from '../settings/flag-values.ts';
import { Flag, JQ_FLAG } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { RunSettings, SettingFlags } from '../settings/settings.ts';
import { flagWords, shellWord } from '../shell-words.ts';
import type { FormatOptions } from './format-options.ts';
import {
  FORMAT_NAMES,
  type FormatName,
  foreignFormatOf,
  formatOfFile,
  formatSynonyms,
  formatTraits,
  formats as registry,
} from './format-registry.ts';

export interface FormatFlags {
  readonly output?: string;
  readonly json?: true;
  readonly ndjson?: true;
  readonly csv?: true;
  readonly fields?: string;
  readonly jq?: string;
  readonly csvRaw?: true;
  readonly csvBom?: true;
  readonly csvDelimiter?: string;
  readonly header?: boolean;
}

type FormatFlagName = Exclude<keyof FormatFlags, 'header'> | 'noHeader';

const formatFlags: Readonly<Record<FormatFlagName, true>> = {
  output: true,
  json: true,
  ndjson: true,
  csv: true,
  csvRaw: true,
  csvBom: true,
  csvDelimiter: true,
  noHeader: true,
  fields: true,
  jq: true,
};

/** The flags of `addFormatFlags`. */
export const FORMAT_FLAGS = Object.keys(formatFlags) as readonly FormatFlagName[];

/** The formats with a flag of their own, such as `--csv`. */
const FLAG_FORMATS = FORMAT_NAMES.filter((name) => name in formatFlags) as readonly (FormatName &
  FormatFlagName)[];

/** Returns the named flags as typed, `--no-header` for `noHeader`. */
export function typedFlags(flags: FormatFlags, names: readonly string[] = FORMAT_FLAGS): string[] {
  return flagWords({ ...flags, noHeader: flags.header === false || undefined }, names);
}

/** True if a flag names a format, or the fields of one. */
export function choosesFormat(flags: FormatFlags): boolean {
  return [...FLAG_FORMATS, 'output' as const, 'fields' as const].some((name) => flags[name]);
}

const CSV_BOM = 'with --csv: begin with a byte order mark, which Excel needs for text that is not English';
const CSV_RAW = 'with --csv: do not guard text that a spreadsheet would run as a formula';
const NO_HEADER = 'with a table or CSV: without the line of titles';

const DELIMITERS: Readonly<Record<string, string>> = {
  ',': ',',
  ';': ';',
  '\t': '\t',
  '\\t': '\t',
  tab: '\t',
};

function csvDelimiterFlag(): Option {
  const description =
    'with --csv: ; or tab between cells, for a spreadsheet of a country with decimal commas';
  return new Flag('--csv-delimiter <character>', description, { preset: ',' }, (text) => {
    const delimiter = DELIMITERS[text.toLowerCase()];
    if (delimiter !== undefined) return delimiter;
    throw new UsageError(`--csv-delimiter: invalid value '${text}': must be a comma, a semicolon or tab`, {
      next: "write --csv-delimiter ';' or --csv-delimiter tab",
    });
  });
}

/** Completion and `help --json` read the choices. */
function addOutputFlag(command: Command, formats: readonly FormatName[]): Command {
  const option = new Flag('-o, --output <format>', orList(formats), { preset: formats[0] });
  option.argChoices = [...formats];
  return command.addOption(option);
}

export function jqFlag(command: Command, over: string): Option {
  const text = `run a jq program over ${over}; strings come out raw`;
  return command.createOption('-q, --jq <program>', text).argParser((program) => {
    if (!JQ_FLAG.test(program)) return program;
    return (command as StrictCommand).unknownOption(program);
  });
}

export function addFormatFlags(command: Command): Command {
  return addOutputFlag(command.optionsGroup('Format:'), FORMAT_NAMES)
    .option('--json', 'one JSON array, every item exactly as the service wrote it')
    .option('--ndjson', 'one JSON value per line, as pages arrive')
    .option('--csv', 'RFC 4180 with a header line, safe to open in a spreadsheet')
    .option(
      '--fields <a,b.c>',
      'only these fields, in this order; a.b is b inside a, a[].b the list of all b in the list a, \\. a dot in a name, a missing field null',
    )
    .addOption(jqFlag(command, 'the JSON array, or with --ndjson over each item'))
    .option('--csv-bom', CSV_BOM)
    .option('--no-header', NO_HEADER)
    .option('--csv-raw', CSV_RAW)
    .addOption(csvDelimiterFlag())
    .optionsGroup('Options:')
    .hook('preAction', checkFormat);
}

/** Throws `UsageError` if `-o` looks like a file. */
export function checkFormat(_: Command, command: Command): void {
  const { output } = command.opts<FormatFlags>();
  if (output !== undefined && /[./\\]/.test(output)) throw isFile(output, command);
}

function isFile(output: string, { options }: Command): UsageError {
  if (/^[a-z-]+=/.test(output))
    return new UsageError(`--output: invalid value '${output}': must be ${orList(FORMAT_NAMES)}`, {
      next: '--fields chooses columns, and --jq runs a program over the JSON',
    });
  const meant = formatOfFile(output) ?? 'table';
  const takesFile = options.some(({ long }) => long === '--output-file');
  return new UsageError(`--output names a format, and '${output}' looks like a file`, {
    next: `end the line with \`-o ${meant} ${takesFile ? '--output-file' : '>'} ${shellWord(output)}\``,
    ...(takesFile ? { correction: { typed: output, meant, followedBy: ['--output-file', output] } } : {}),
  });
}

interface AskedFormat {
  readonly name: FormatName;
  readonly typed: string;
}

function askedFormat(flags: FormatFlags, offered: readonly FormatName[]): AskedFormat | undefined {
  const asked = new Map<FormatName, string>();
  if (flags.output !== undefined)
    asked.set(oneOf('--output', offered, formatSynonyms())(flags.output), `--output ${flags.output}`);
  for (const name of FLAG_FORMATS) if (flags[name] && !asked.has(name)) asked.set(name, `--${name}`);
  const typed = [...asked.values()];
  const others = typed.slice(0, -1).join(', ');
  if (others) throw new UsageError(`${others} and ${typed.at(-1)} contradict each other: give one`);
  const [first] = asked;
  return first && { name: first[0], typed: first[1] };
}

/** Throws `UsageError` for formats that do not exist, instead of writing a table into the file. */
function formatForFile(
  outputFile: string | undefined,
  asked: AskedFormat | undefined,
  offered: readonly FormatName[],
): FormatName | undefined {
  if (outputFile === undefined) return undefined;
  const named = formatOfFile(outputFile.replace(/\.gz$/i, ''));
  if (/\.gz$/i.test(outputFile)) {
    const meant = !asked && named && offered.includes(named) ? `-o ${named} ` : '';
    throw new UsageError('--output-file does not compress', {
      next: `end the line with \`${meant}| gzip > ${shellWord(outputFile)}\` instead`,
    });
  }
  const foreign = asked ? undefined : foreignFormatOf(outputFile);
  if (foreign)
    throw new UsageError(`--output-file: the formats are ${orList(offered)}, not ${foreign.ending}`, {
      next: foreign.next,
    });
  return named;
}

function checkFormatFlags(flags: FormatFlags, format: FormatName, typed: string | undefined): void {
  const { isJson, hasTitles } = registry[format];
  if (flags.jq !== undefined && !isJson)
    throw new UsageError(`--jq and ${typed} contradict each other: a jq program works on JSON`, {
      next: 'give only --jq, or --jq with --ndjson to run it on each item as it arrives',
    });
  if (flags.csvRaw && format !== 'csv') throw new UsageError('--csv-raw needs --csv');
  if (flags.csvBom && format !== 'csv') throw new UsageError('--csv-bom needs --csv');
  if (flags.csvDelimiter !== undefined && format !== 'csv')
    throw new UsageError('--csv-delimiter needs --csv');
  if (flags.header === false && !hasTitles)
    throw new UsageError(`--no-header needs a table or --csv: ${typed ?? 'JSON'} has no line of titles`);
}

/** Uses the flags, else the ending of the output file. Throws `UsageError` for contradicting flags. */
export function formatOptions(
  flags: FormatFlags & OutputFlags,
  list: ListKind,
  offered: readonly FormatName[] = FORMAT_NAMES,
): FormatOptions {
  const asked = askedFormat(flags, offered);
  const ofFile = formatForFile(flags.outputFile, asked, offered);
  const given = asked?.name ?? (flags.jq === undefined ? ofFile : 'json');
  const isOffered = given !== undefined && offered.includes(given);
  // A count prints the same number in every format.
  if (given && !isOffered && offered.length > 2)
    throw new UsageError(`--output-file: the formats of this command are ${orList(offered)}, not ${given}`, {
      next: 'end the name of the file in .json or .md, or add -o table',
    });
  const format = isOffered ? given : 'table';
  checkFormatFlags(flags, format, asked?.typed);
  const fields = flags.fields === undefined ? undefined : parseFieldPaths(flags.fields);
  const { jq, csvRaw, csvBom, csvDelimiter, header: hasHeader } = flags;
  return { format, list, fields, jq, csvRaw, csvBom, csvDelimiter, hasHeader };
}

export interface OutputFlags {
  readonly pager?: boolean;
  readonly outputFile?: string;
}

/** For commands that print data and end. `program.ts` starts the pager if the output exceeds the terminal. */
export function addPagerFlag(command: Command): Command {
  const variables = ['HOOKTRAIL_PAGER', 'PAGER'];
  return command.addOption(new Flag('--no-pager', 'print to the terminal itself', { variables }));
}

/** For commands that print data and end. `program.ts` redirects their standard output. */
export function addOutputFileFlag(command: Command): Command {
  return command.option(
    '--output-file <file>',
    'write the output to this file, which is replaced only if the command succeeds; .csv, .json, .ndjson or .md chooses the format',
    fileName('--output-file'),
  );
}

export interface EventFlags extends FilterFlags, FormatFlags, SettingFlags {
  readonly concurrency?: number;
}

export function addListFlags(command: Command): Command {
  addFormatFlags(addPagerFlag(command));
  return addConnectionFlags(addOutputFileFlag(command));
}

/** For commands that sum up events. Only tables have formats other than `table` and `json`. */
export function addSummaryFlags(
  command: Command,
  formats: readonly FormatName[],
  prints: { readonly json: string; readonly ndjson?: string; readonly csv?: string },
): Command {
  const hasTable = formats.length > 2;
  addOutputFlag(addFromFlag(addFilterFlags(command)).optionsGroup('Format:'), formats)
    .option('--json', prints.json)
    .addOption(jqFlag(command, 'the JSON'));
  if (prints.ndjson) command.option('--ndjson', prints.ndjson);
  if (prints.csv)
    command
      .option('--csv', prints.csv)
      .option('--csv-bom', CSV_BOM)
      .option('--csv-raw', CSV_RAW)
      .addOption(csvDelimiterFlag());
  if (hasTable) command.option('--no-header', NO_HEADER);
  command.optionsGroup('Options:').hook('preAction', checkFormat);
  if (hasTable) addPagerFlag(command);
  return addConnectionFlags(addOutputFileFlag(command));
}

/** Throws `UsageError`. */
export function summaryOptions(call: FiltersCall<EventFlags>, formats: readonly FormatName[] = FORMAT_NAMES) {
  const { flags } = call;
  const filters = filtersOf(call);
  const format: FormatOptions = {
    ...formatOptions(flags, 'events', formats),
    zone: filters.zone,
    csvZone: flags.timezone === undefined ? undefined : filters.zone,
    nameField: filters.nameField,
  };
  return { filters, format, from: flags.from, concurrency: flags.concurrency ?? CONCURRENCY };
}

/** Like `summaryOptions`; tables default to the saved columns (`config set fields`). */
export function eventOptions(call: FiltersCall<EventFlags>) {
  const { format, ...others } = summaryOptions(call);
  const { isForPeople } = formatTraits(format.format);
  const saved = isForPeople && !format.fields ? savedFields(call.settings) : undefined;
  if (saved === undefined) return { format, ...others };
  return { ...others, format: { ...format, fields: saved, areFieldsSaved: true } };
}

/** Throws `UsageError` for an invalid list of fields. */
export function savedFields({ fields }: RunSettings): readonly FieldPath[] | undefined {
  return fields && parseFieldPaths(fields.text, fields.source);
}
