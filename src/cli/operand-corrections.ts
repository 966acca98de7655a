import type { Command } from 'commander';
import { type Advice, advise, hooktrail } from '../advice.ts';
import { SEVERAL_PLACES } from '../filters/filter-flags.ts';
import { isGuid } from '../items/guids.ts';
import { parseTime } from '../time/time-text.ts';
import {
  type Correction,
  firstCorrection,
  hasOption,
  helpOf,
  type Rule,
  takenText,
  takesCommand,
} from './correction-rules.ts';
import { wordsOf } from './help-text.ts';

interface ExcessWord {
  readonly word: string;
  readonly command: Command;
  readonly words: readonly string[];
  readonly at: number;
  readonly taken: number;
  readonly problem: string;
}

export function correctOperand(command: Command, words: readonly string[]): Correction {
  const taken = command.registeredArguments.filter(({ variadic }) => !variadic).length;
  const word = command.args[taken] as string;
  const problem = `${wordsOf(command)} takes ${takenText(command)}, but was given '${word}'`;
  const fault = { word, command, words, at: words.lastIndexOf(word), taken, problem };
  return firstCorrection(OPERAND_RULES, fault) ?? { problem, next: whatItTakes(command) };
}

export const OPERAND_RULES: readonly Rule<ExcessWord>[] = [
  { example: 'events search —failed', correct: asDashesOfFlag },
  { example: 'events search --where “order = 5”', correct: asQuotedText },
  { example: 'events search 7c9e6679-7425-40de-944b-e07fc1f90ae7', correct: asEventsToShow },
  { example: 'events search --since 2026-11-20 08:30', correct: asTimeInWords },
  {
    example: 'events search --from a.ndjson b.ndjson',
    correct: ({ word, words, problem }) => {
      const isFile = /\.(nd)?jsonl?(\.gz)?$|^[^:]+\//.test(word);
      return isFile && words.includes('--from') ? { problem, next: SEVERAL_PLACES } : undefined;
    },
  },
  { example: 'events find Harbour Freight', correct: asOneText },
  { example: 'events search order.created', correct: asValueOfFlag },
  {
    example: 'events watch ./handle.sh x',
    correct: ({ word, command, words, at, problem }) =>
      takesCommand(command) && at !== -1 && (command.args.length > 1 || isPlaceOfProgram(word))
        ? { problem, words: words.toSpliced(words.indexOf(word), 0, '--') }
        : undefined,
  },
];

function isPlaceOfProgram(word: string): boolean {
  return /^(\.{0,2}|~)\//.test(word);
}

const LONG_DASH = /^(?=-{0,2}[\u2010-\u2015\u2212])[-\u2010-\u2015\u2212]{1,3}(?=[a-z])/i;

function asDashesOfFlag({ word, words, problem }: ExcessWord): Correction | undefined {
  if (!LONG_DASH.test(word)) return undefined;
  return { problem, words: words.map((one) => one.replace(LONG_DASH, '--')) };
}

/** Word processors curl quotes, which the shell then takes literally. */
function asQuotedText({ words, problem }: ExcessWord): Correction | undefined {
  const first = words.findIndex((one) => /^[“„‘]/.test(one));
  const last = words.findIndex((one, index) => index >= first && /[”’]$/.test(one));
  if (first < 0 || last < 0) return undefined;
  const text = words
    .slice(first, last + 1)
    .join(' ')
    .slice(1, -1);
  return { problem, words: words.toSpliced(first, last - first + 1, text) };
}

function whatItTakes(command: Command): Advice {
  return hasOption(command, '--since')
    ? advise`events are chosen by filters: see ${hooktrail('help filters')}`
    : advise`${helpOf(command)} shows what it takes`;
}

/** A search or summary of ids alone is meant to show those events. */
function asEventsToShow({ command, words, problem }: ExcessWord): Correction | undefined {
  const { args } = command;
  const isShown = /^events (search|explain|stats)$/.test(wordsOf(command));
  const isOnlyIds = args.every(isGuid) && words.length === args.length + 2;
  return isShown && isOnlyIds ? { problem, words: words.with(1, 'get') } : undefined;
}

/** Joins a time without quotes: `--since 2026-11-20 08:30`, `--since=2 hours ago`. */
function asTimeInWords({ words, at, problem }: ExcessWord): Correction | undefined {
  const [, flag = '', start] = /^(--\w+=)?(.*)$/s.exec(words[at - 1] ?? '') ?? [];
  for (let end = words.length; at > 0 && end > at; end--) {
    const time = [start, ...words.slice(at, end)].join(' ');
    if (parseTime(time)) return { problem, words: words.toSpliced(at - 1, end - at + 1, `${flag}${time}`) };
  }
  return undefined;
}

/** Joins a text of several words without quotes, unless the excess word suggests a flag. */
function asOneText({ word, command, words, problem }: ExcessWord): Correction | undefined {
  const { args } = command;
  const first = words.lastIndexOf(word) - 1;
  const isTogether = args.every((one, index) => one === words[first + index]);
  const isText = /^events (find|about)$/.test(wordsOf(command)) && isTogether;
  return isText && !firstOffered(command, flagForWord(word, words))
    ? { problem, words: words.toSpliced(first, args.length, args.join(' ')) }
    : undefined;
}

function asValueOfFlag({ word, command, words, at, taken, problem }: ExcessWord): Correction | undefined {
  const isProgram = takesCommand(command) && isPlaceOfProgram(word);
  const isText = !isProgram && command.args.length === taken + 1 && /^[^=]{3,}$/.test(word);
  const texts = isText ? ['--grep', '--match'] : [];
  const meanings = [...flagForWord(word, words), ...texts.map((flag) => [flag, word])];
  const meant = firstOffered(command, meanings);
  return meant && at !== -1 ? { problem, words: words.toSpliced(at, 1, ...meant) } : undefined;
}

function firstOffered(command: Command, flags: readonly string[][]): string[] | undefined {
  return flags.find(([flag = '']) => flag === '--help' || hasOption(command, flag));
}

export function flagForWord(word: string, words: readonly string[]): string[][] {
  for (const meaning of MEANINGS) {
    const flags = meaning(word, words);
    if (flags) return flags;
  }
  return typeOrFields(word, words);
}

/** Returns undefined for words of another form. */
type Meaning = (word: string, words: readonly string[]) => string[][] | undefined;

const MEANINGS: readonly Meaning[] = [
  (word) => (/^(failed|help)$/i.test(word) ? [[`--${word.toLowerCase()}`]] : undefined),
  (word) => (/^success$/i.test(word) ? [['--status', 'SUCCESS']] : undefined),
  (word, words) => {
    // A summary of one event is useless.
    const isSummed = words.some((one) => /^(explain|health|stats|report)$/.test(one));
    return isGuid(word) ? [[isSummed ? '--subscription' : '--id', word]] : undefined;
  },
  (word) =>
    /^https?:/.test(word)
      ? ['--forward-to', '--auth-url', '--base-url'].map((flag) => [flag, word])
      : undefined,
  (word, words) => (/^log(in|out)$/.test(words[0] ?? '') ? [['--profile', word]] : undefined),
  (word) => (/\.(csv|md|txt)$/.test(word) ? [['--output-file', word]] : undefined),
  (word, words) => {
    const isWritten = /^--(nd)?json$/.test(words[words.lastIndexOf(word) - 1] ?? '');
    const isFile = /\.(nd)?jsonl?(\.gz)?$/.test(word);
    return isFile ? [[isWritten ? '--output-file' : '--from', word]] : undefined;
  },
  (word, words) => {
    const hasBegin = / --(since|after)\b/.test(words.join(' '));
    return parseTime(word) ? [[hasBegin ? '--until' : '--since', word]] : undefined;
  },
];

function typeOrFields(word: string, words: readonly string[]): string[][] {
  const isList = words.includes('--json') && /^[\w.-]+(,[\w.-]+)*$/.test(word);
  const isType = /^[\w-]+\.[\w.*-]+$/.test(word);
  return [...(isList ? [['--fields', word]] : []), ...(isType ? [['--type', word]] : [])];
}
