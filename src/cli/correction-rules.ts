import type { Command, Option } from 'commander';
import { type Advice, type AdvisedCommand, hooktrail } from '../advice.ts';
import { wordsOf } from './help-text.ts';

/**
 * One fault of the line, and the words of the line without it, or the next step if no corrected line can be
 * guessed.
 */
export interface Correction {
  readonly problem?: string;
  /** A flag that may be none of a fault: it was moved behind the command. */
  readonly misplaced?: string;
  readonly words?: readonly string[];
  readonly next?: Advice;
}

/** A kind of fault, and what was meant. */
export interface Rule<Fault> {
  /** A line that it corrects. */
  readonly example: string;
  /** Returns undefined if the fault is of another kind. */
  readonly correct: (fault: Fault) => Correction | undefined;
}

/** The correction of the first rule that has one. */
export function firstCorrection<Fault>(rules: readonly Rule<Fault>[], fault: Fault): Correction | undefined {
  for (const { correct } of rules) {
    const correction = correct(fault);
    if (correction) return correction;
  }
  return undefined;
}

export function helpOf(command: Command): AdvisedCommand {
  return hooktrail(`${wordsOf(command)} --help`.trimStart());
}

/** The options of a command and those that every command has. */
export function optionsOf(command: Command): readonly Option[] {
  let root = command;
  while (root.parent) root = root.parent;
  return root === command ? command.options : [...command.options, ...root.options];
}

export function hasOption(command: Command, name: string): boolean {
  return optionsOf(command).some(({ long }) => long === name);
}

/** True if the words after `--` are a command of the user's. */
export function takesCommand({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.variadic && argument.name() === 'command');
}

/** What a command takes beside its flags, in words. */
export function takenText(command: Command): string {
  if (takesCommand(command)) return 'a command after --';
  const last = command.registeredArguments.at(-1);
  return last ? `only <${last.name()}>` : 'no arguments';
}
