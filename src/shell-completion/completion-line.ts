import type { Argument, Command, Option } from 'commander';
import { type Kind, kindOfArgument, kindOfOption } from './completion-values.ts';

/** A command line as far as it is typed. */
export interface Line {
  /** The command that the words name so far. */
  readonly command: Command;
  /** Its words, as in `events search`. */
  readonly path: string;
  /** Every option that may stand here: the command's own and those of the commands above it. */
  readonly options: readonly Option[];
  /** The long names that were given. */
  readonly seen: ReadonlySet<string>;
  /** The option whose value comes next. */
  readonly option: Option | undefined;
  /** How many arguments stand before. */
  readonly position: number;
  /** Whether `--` was typed. */
  readonly onlyArguments: boolean;
  /** What is typed of the last word. */
  readonly typed: string;
  /** The profile that the line names. */
  readonly profile: string | undefined;
}

/** Reads a line the way commander would, without judging it. */
export function readLine(program: Command, words: readonly string[]): Line {
  const all = joinedAtEquals(words);
  const seen = new Set<string>();
  let command = program;
  let option: Option | undefined;
  let position = 0;
  let onlyArguments = false;
  let profile: string | undefined;
  for (const word of all.slice(0, -1)) {
    if (option) {
      if (option.long === '--profile') profile = word;
      option = undefined;
    } else if (word === '--' && !onlyArguments) {
      onlyArguments = true;
    } else if (word.startsWith('-') && !onlyArguments) {
      const [name = '', value] = word.split('=', 2);
      const found = optionsFor(command).find(({ short, long }) => name === short || name === long);
      if (found?.long) seen.add(found.long);
      if (found?.long === '--profile') profile = value;
      if (found && value === undefined && (found.required || found.optional)) option = found;
    } else {
      const child = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (child) command = child;
      else position++;
    }
  }
  const options = optionsFor(command);
  return {
    command,
    path: pathOf(command),
    options,
    seen,
    option,
    position,
    onlyArguments,
    typed: all.at(-1) ?? '',
    profile,
  };
}

/** bash hands `--output=json` over as three words, and `--output=` as two. */
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
    // The version is printed for the whole program alone.
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

/** What may stand at the end of a command line: words of the tree, or values of a kind. */
export type Expected =
  | { readonly words: readonly Candidate[] }
  | { readonly kind: Kind; readonly prefix: string; readonly line: Line };

/** What may come where `words` end; the last of them is what is typed of it so far. */
export function expectedAt(program: Command, words: readonly string[]): Expected {
  const line = readLine(program, words);
  const { command, typed, option } = line;
  if (option) return { kind: kindOfOption(option), prefix: '', line };
  const named = /^(--[^=]+)=/.exec(typed)?.[1];
  if (named && !line.onlyArguments) {
    const inline = line.options.find(({ long }) => long === named);
    return inline ? { kind: kindOfOption(inline), prefix: `${named}=`, line } : { words: [] };
  }
  if (typed.startsWith('-') && !line.onlyArguments) return { words: optionsOf(line) };
  const subcommands = line.position === 0 ? visibleCommands(command) : [];
  const argument = argumentAt(command, line.position);
  if (subcommands.length > 0 || !argument) return { words: subcommands };
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

/** The word that the completion scripts call the program with, before the words of the line. */
const COMPLETE = '__complete';
/** The word that has the program fill the cache of event types. */
export const FILL = '__fill-event-types';

/** Whether a completion script called, or the program itself in its background. */
export function isForCompletion(argv: readonly string[]): boolean {
  return argv[0] === COMPLETE || argv[0] === FILL;
}
