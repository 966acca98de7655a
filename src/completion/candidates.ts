import type { Argument, Command, Option } from 'commander';
import { type Line, readLine } from './line.ts';
import { type Kind, kindOfArgument, kindOfOption } from './value-kinds.ts';

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
