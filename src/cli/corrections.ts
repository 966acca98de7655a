import { type AdvisedCommand, advise, hooktrail } from '../advice.ts';
import type { CommandTree, Example, ParseFault } from '../command.ts';
import { UsageError } from '../errors.ts';
import { shellText } from '../shell-words.ts';
import { correctCommand } from './command-corrections.ts';
import { type Correction, helpOf } from './correction-rules.ts';
import { correctFlag } from './flag-corrections.ts';
import { exampleLine, explanationOf, wordsOf } from './help-text.ts';
import { correctOperand } from './operand-corrections.ts';

const MAX_CORRECTIONS = 50;
const HOPELESS: Correction = {
  problem: 'no command is meant',
  next: advise`${hooktrail('--help')} lists the commands`,
};

export async function usageErrorFor(
  first: ParseFault,
  argv: readonly string[],
  { faultOf }: CommandTree,
): Promise<UsageError> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const problems: string[] = [];
  let misplaced: string | undefined;
  let words: readonly string[] = argv.slice(0, end);
  let fault: ParseFault | undefined = first;
  // A flag that is also the value of another could be moved back and forth.
  for (let tries = 0; fault; tries++) {
    const correction: Correction | undefined =
      tries < MAX_CORRECTIONS ? correctionOf(fault, words) : HOPELESS;
    if (!correction) break;
    if (correction.problem) problems.push(correction.problem);
    if (correction.next) return new UsageError(problems.join('; '), { next: correction.next });
    misplaced ??= correction.misplaced;
    words = correction.words ?? words;
    fault = await faultOf([...words, ...argv.slice(end)]);
  }
  const message = problems[0] ?? (misplaced && `${misplaced} belongs after the command`);
  if (!message) return explained(first);
  return new UsageError(message, { next: lineOf([...words, ...argv.slice(end)], argv) });
}

function correctionOf(fault: ParseFault, words: readonly string[]): Correction | undefined {
  const { code, command, flag } = fault;
  if (code === 'commander.unknownCommand') return correctCommand(command, words);
  if (code === 'commander.excessArguments') return correctOperand(command, words);
  return flag === undefined ? undefined : correctFlag(flag, command, words);
}

export function withCorrectedValue(error: UsageError, argv: readonly string[]): UsageError {
  const { correction, message, details } = error;
  if (!correction) return error;
  const { typed, meant, followedBy = [] } = correction;
  const places = argv.flatMap((word, at) => placesIn(word, typed).map((start) => ({ word, at, start })));
  const [place, another] = places;
  if (!place || another) return error;
  const { word, at, start } = place;
  const corrected = word.slice(0, start) + meant + word.slice(start + typed.length);
  const words = argv.toSpliced(at, 1, corrected, ...followedBy);
  return new UsageError(message, { details, next: lineOf(words, argv) });
}

/** Returns where a value is in a word: alone, after `--flag=`, or in a list with commas. */
function placesIn(word: string, value: string): number[] {
  const ends = new Set([...word.matchAll(/,|$/g)].map(({ index }) => index));
  const starts = [0, ...[...word.matchAll(/^--[^=]*=|,/g)].map(({ index, 0: mark }) => index + mark.length)];
  return starts.filter((start) => word.startsWith(value, start) && ends.has(start + value.length));
}

const YES_FLAGS = ['--yes', '-y'];

/** A suggestion never carries over --yes. */
function lineOf(words: readonly string[], argv: readonly string[]): string {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const given = YES_FLAGS.filter((flag) => argv.includes(flag));
  const asked = words.slice(0, end).filter((word) => !given.includes(word));
  return shellText(['hooktrail', ...asked, ...words.slice(end)]);
}

function explained(error: ParseFault): UsageError {
  const { command, option, argument } = error;
  const help = helpOf(command);
  if (option?.long) {
    const value = option.flags.slice(option.flags.indexOf(option.long) + option.long.length).trim();
    return new UsageError(`${option.long} needs a value: ${value}`, { next: advise`${help} says which` });
  }
  if (argument === undefined)
    return new UsageError(error.message.replace(/^error: /, ''), {
      next: advise`${help} shows what it takes`,
    });
  const [example] = explanationOf(command).examples;
  return new UsageError(`${wordsOf(command)} needs <${argument}>`, {
    next: example ? advise`for instance ${commandOfExample(example)}` : advise`${help}`,
  });
}

function commandOfExample(example: Example): AdvisedCommand {
  const [, words = ''] = /^hooktrail (.*?)( {2,}#.*)?$/.exec(exampleLine(example)) ?? [];
  return hooktrail(words);
}
