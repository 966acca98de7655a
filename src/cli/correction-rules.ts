import type { Command, Option } from 'commander';
import { type Advice, type AdvisedCommand, hooktrail } from '../advice.ts';
import { rootOf, wordsOf } from './help-text.ts';

/** One fault of the line, with the corrected words, or the next step if there is no likely correction. */
export interface Correction {
  readonly problem?: string;
  /** A flag that was only moved after the command. */
  readonly misplaced?: string;
  readonly words?: readonly string[];
  readonly next?: Advice;
}

export interface Rule<Fault> {
  readonly example: string;
  /** Returns undefined for other kinds of faults. */
  readonly correct: (fault: Fault) => Correction | undefined;
}

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

export function optionsOf(command: Command): readonly Option[] {
  const root = rootOf(command);
  return root === command ? command.options : [...command.options, ...root.options];
}

export function hasOption(command: Command, name: string): boolean {
  return optionsOf(command).some(({ long }) => long === name);
}

export function takesCommand({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.variadic && argument.name() === 'command');
}

export function takenText(command: Command): string {
  if (takesCommand(command)) return 'a command after --';
  const last = command.registeredArguments.at(-1);
  return last ? `only <${last.name()}>` : 'no arguments';
}
