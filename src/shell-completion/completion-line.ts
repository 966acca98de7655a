import type { Argument, Command, Option } from 'commander';
import { kindOfArgument, kindOfOption, type ValueKind } from '../help/command-description.ts';
import type { Program } from '../program.ts';

/** The part of a command line that is typed. */
export interface Line {
  /** The command that the words before the cursor name. */
  readonly command: Command;
  /** Its words, as in `events search`. */
  readonly path: string;
  /** Every option that may stand here: the command's own and those of the commands above it. */
  readonly options: readonly Option[];
  /** The long names that were given. */
  readonly seen: ReadonlySet<string>;
  /** The option whose value is being typed. */
  readonly option: Option | undefined;
  /** The text before that value in the same word, such as `--output=`. */
  readonly prefix: string;
  /** The arguments before it. */
  readonly operands: readonly string[];
  /** True after `--`. */
  readonly onlyArguments: boolean;
  /** The typed part of the last word. */
  readonly typed: string;
  /** The profile that the line names. */
  readonly profile: string | undefined;
}

/** Replaces the word that is being typed: the place where commander puts it shows the kind of the word. */
const CURSOR = '\0cursor';

/** Makes commander parse a line, level by level as it dispatches commands, but without validating values. */
async function readLine({ root, declare }: Program, words: readonly string[]): Promise<Line> {
  const all = joinedAtEquals(words);
  const typed = all.at(-1) ?? '';
  const before = all.slice(0, -1);
  const inline = /^--[^=]+=/.exec(typed)?.[0] ?? '';
  const seen = new Set<string>();
  let option: Option | undefined;
  let profile: string | undefined;
  let command = root;
  let operands: string[] = [];
  let unknown = [...before, inline + CURSOR];
  for (;;) {
    await declare(command);
    for (const one of command.options) {
      delete one.parseArg;
      command.on(`option:${one.name()}`, (value: string | undefined) => {
        if (value === CURSOR) option = one;
        else if (one.long) seen.add(one.long);
        if (one.long === '--profile' && value !== CURSOR) profile = value;
      });
    }
    const parsed = command.parseOptions(unknown);
    operands = [...operands, ...parsed.operands];
    unknown = parsed.unknown;
    const child = command.commands.find((one) => one.name() === operands[0]);
    if (!child) break;
    command = child;
    operands = operands.slice(1);
  }
  const cursor = operands.indexOf(CURSOR);
  return {
    command,
    path: pathOf(command),
    options: optionsFor(command),
    seen,
    option,
    prefix: option ? inline : '',
    operands: cursor === -1 ? operands : operands.slice(0, cursor),
    onlyArguments: before.includes('--'),
    typed,
    profile,
  };
}

/** bash passes `--output=json` as three words, and `--output=` as two. */
function joinedAtEquals(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const [index, word] of words.entries()) {
    const isOption = words[index - 1]?.startsWith('--');
    if (word === '=' && isOption) {
      if (index === words.length - 1) joined.push('');
    } else {
      joined.push(word);
    }
  }
  return joined;
}

function optionsFor(command: Command): Option[] {
  const options: Option[] = [];
  for (let at: Command | null = command; at; at = at.parent) {
    // Only the whole program has a version.
    options.push(...at.options.filter(({ long }) => at === command || long !== '--version'));
  }
  const help = command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long === '--help');
  return [...options, ...help];
}

function pathOf(command: Command): string {
  const words: string[] = [];
  for (let at: Command = command; at.parent; at = at.parent) words.unshift(at.name());
  return words.join(' ');
}

/** A word that may be put in, and what it means. */
export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/** Candidates for the end of a command line: words of the tree, or values of a kind. */
export type ExpectedWords =
  | { readonly words: readonly Candidate[]; readonly typed: string }
  | { readonly kind: ValueKind; readonly prefix: string; readonly line: Line };

/** The candidates for the last of the words, which is typed only in part. */
export async function expectedAt(program: Program, words: readonly string[]): Promise<ExpectedWords> {
  const line = await readLine(program, words);
  const { command, typed, option, prefix } = line;
  if (option) return { kind: kindOfOption(option), prefix, line };
  if (typed.startsWith('-') && !line.onlyArguments)
    return { words: typed.includes('=') ? [] : optionsOf(line), typed };
  const position = line.operands.length;
  const subcommands = position === 0 ? visibleCommands(command) : [];
  const argument = argumentAt(command, position);
  if (subcommands.length > 0 || !argument) return { words: subcommands, typed };
  return { kind: kindOfArgument(line.path, argument), prefix: '', line };
}

function visibleCommands(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ word: child.name(), meaning: child.description() }));
}

function optionsOf({ options, seen }: Line): Candidate[] {
  return options
    .filter((option) => !option.hidden && option.long && (isRepeatable(option) || !seen.has(option.long)))
    .map((option) => ({ word: option.long as string, meaning: option.description }));
}

/** The help of an option that may be given several times says so. */
function isRepeatable(option: Option): boolean {
  return option.variadic || /repeat/.test(option.description);
}

function argumentAt(command: Command, position: number): Argument | undefined {
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  return all[position] ?? (last?.variadic ? last : undefined);
}
