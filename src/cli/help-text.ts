import type { Command, Option } from 'commander';
import type { Example, TreeCommand } from '../command.ts';
import { CONNECTION } from '../settings/flag-values.ts';
import type { Flag, FlagFacts } from '../settings/flags.ts';
import { wrapWords } from '../terminal/cell-width.ts';

const RARE_FLAGS = new Set([
  '--page-size',
  '--concurrency',
  '--csv-raw',
  '--csv-bom',
  '--csv-delimiter',
  '--buckets',
]);
const RARELY_NEEDED = 'Rarely needed:';

const SHARED_BLOCKS = ['Filters:', 'Format:', RARELY_NEEDED];

/** Lines of a small terminal, without the shell's next prompt. */
const SCREEN_LINES = 23;
/** Flags in `-h` if a declaration does not name its common ones. */
const MAX_FLAGS = 12;

/** Formats `--help`: everything about a command, examples first and shared flags last. */
export function fullHelp(command: Command, width: number): string {
  const { notes, examples } = explanationOf(command);
  const { helper, usage, item, argumentItems } = layoutOf(command, width);
  const visible = helper.visibleOptions(command).filter(({ long }) => long !== '--help');
  const options = helper.groupItems([...command.options], visible, ({ long, helpGroupHeading }) =>
    RARE_FLAGS.has(long ?? '') ? RARELY_NEEDED : (helpGroupHeading ?? 'Options:'),
  );
  const block = (heading: string, items: readonly string[] = []) =>
    items.length === 0 ? [] : [heading, ...items, ''];
  const flagsBelow = (heading: string) =>
    block(
      heading,
      options
        .get(heading)
        ?.map((option) => item(helper.optionTerm(option), flagText(option.description, factsOf(option)))),
    );
  const commands = helper
    .visibleCommands(command)
    .map((child) => item(helper.subcommandTerm(child), child.description()));
  const shared = [...SHARED_BLOCKS, CONNECTION];
  const connection = options.get(CONNECTION);
  const global = `${flagsOf(rootOf(command).options.filter(({ long }) => long !== '--version'))} --help`;
  const lines = [
    usage,
    '',
    helper.boxWrap(command.description(), width),
    '',
    ...block(
      'Examples:',
      examples.map((example) => `  ${withPrompt(example)}`),
    ),
    ...block('Arguments:', argumentItems),
    ...block('Commands:', commands),
    ...[...options.keys()].filter((heading) => !shared.includes(heading)).flatMap(flagsBelow),
    ...(notes === '' ? [] : [notes, '']),
    ...SHARED_BLOCKS.flatMap(flagsBelow),
    ...(connection ? [`Connection: ${flagsOf(connection)} (help environment)`] : []),
    helper.boxWrap(`Global: ${global} (hooktrail --help)`, width),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

export function shortHelp(command: TreeCommand, width: number): string {
  const { helper, usage, argumentItems } = layoutOf(command, width);
  const visible = helper.visibleOptions(command).filter(({ long }) => long !== '--help');
  const isOwn = (option: Option) => !option.helpGroupHeading && !RARE_FLAGS.has(option.long ?? '');
  const commonFlags = command.module?.commonFlags;
  const flags = commonFlags
    ? commonFlags.split(' ').flatMap((name) => visible.filter(({ long }) => long === name))
    : visible.filter(isOwn).slice(0, MAX_FLAGS);
  const rows = [
    ...helper.visibleCommands(command).map((child) => [child.name(), child.description()] as const),
    ...flags.map((option) => {
      const { preset } = factsOf(option);
      return [helper.optionTerm(option), flagText(option.description, { preset })] as const;
    }),
  ];
  const termWidth = Math.max(0, ...rows.map(([term]) => term.length));
  const isShort = (example: string) => !example.includes('\n') && example.length + 2 <= width;
  const above = [
    usage,
    '',
    firstClauses(command.description(), width),
    '',
    ...(argumentItems.length > 0 ? [...argumentItems, ''] : []),
    ...rows.map(
      ([term, text]) => `  ${term.padEnd(termWidth)}  ${firstClauses(text, width - termWidth - 4)}`,
    ),
    ...(rows.length > 0 ? [''] : []),
  ];
  // Leaves room for an empty line and the last line.
  const room = Math.min(3, SCREEN_LINES - above.length - 2);
  const examples = explanationOf(command).examples.map(withPrompt).filter(isShort).slice(0, room);
  const lines = [
    ...above,
    ...examples.map((example) => `  ${example}`),
    ...(examples.length > 0 ? [''] : []),
    `${pathOf(command)} --help shows all ${command.commands.length > 0 ? 'commands' : 'flags'}`,
  ];
  return `${lines.join('\n')}\n`;
}

export function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

export function pathOf(command: Command): string {
  return `hooktrail ${wordsOf(command)}`.trimEnd();
}

export function wordsOf(command: Command): string {
  const words: string[] = [];
  for (let at = command; at.parent; at = at.parent) words.unshift(at.name());
  return words.join(' ');
}

function layoutOf(command: Command, width: number) {
  const helper = command.createHelp();
  helper.prepareContext({ helpWidth: width });
  const termWidth = helper.padWidth(command, helper);
  const item = (term: string, text: string) => helper.formatItem(term, termWidth, text, helper);
  return {
    helper,
    usage: `Usage: ${helper.commandUsage(command)}`,
    item,
    argumentItems: helper
      .visibleArguments(command)
      .map((argument) => item(helper.argumentTerm(argument), argument.description)),
  };
}

export function factsOf(option: Option | Flag): FlagFacts {
  return 'facts' in option ? option.facts : {};
}

export function flagText(description: string, { preset, variables = [] }: FlagFacts): string {
  const byDefault = preset === undefined ? '' : ` (default: ${preset})`;
  return `${description}${byDefault}${variables.length > 0 ? ` [${variables.join(', ')}]` : ''}`;
}

function flagsOf(options: readonly Option[]): string {
  return options.map(({ long, short }) => long ?? short).join(' ');
}

export function firstClauses(text: string, room: number): string {
  let kept = text;
  if (kept.length > room) kept = kept.replace(/ \([^()]*\)$/, '');
  while (kept.length > room) {
    const end = Math.max(...['; ', ': ', ', ', ' ('].map((mark) => kept.lastIndexOf(mark)));
    if (end <= 0) return `${kept.slice(0, room - 1).trimEnd()}…`;
    kept = kept.slice(0, end);
  }
  return kept;
}

export function explanationOf({ module }: TreeCommand): { notes: string; examples: readonly Example[] } {
  const { help = '', examples = [] } = module ?? {};
  return { notes: help.trim(), examples };
}

export function withPrompt(example: Example): string {
  return typeof example === 'string' ? `$ ${example}` : `PS> ${example.powershell}`;
}

export function exampleLine(example: Example): string {
  return (typeof example === 'string' ? example : example.powershell).replaceAll(/ \\\n\s*/g, ' ');
}

export function alignedColumns(
  rows: readonly (readonly [left: string, right: string])[],
  width: number,
): string[] {
  const first = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) =>
    wrapWords(right, Math.max(20, width - first - 4))
      .map((line, index) => `  ${(index === 0 ? left : '').padEnd(first)}  ${line}\n`)
      .join(''),
  );
}
