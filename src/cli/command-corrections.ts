import type { Command } from 'commander';
import { type Advice, advise, hooktrail } from '../advice.ts';
import { isGuid } from '../items/guids.ts';
import { nearest } from '../settings/nearest-word.ts';
import { type Correction, firstCorrection, helpOf, type Rule } from './correction-rules.ts';
import { wordsOf } from './help-text.ts';
import { FLAGS_OF_WORDS, namesOf } from './synonyms.ts';

interface UnknownCommand {
  readonly word: string;
  readonly group: Command;
  readonly words: readonly string[];
  readonly at: number;
  readonly isVerb: boolean;
  /** Number of words for the command: two for a verb and its noun. */
  readonly count: number;
  readonly problem: string;
}

/** Replaces a word by the intended command, together with the next word if both form its name. */
export function correctCommand(group: Command, words: readonly string[]): Correction {
  const [word = ''] = group.args;
  const at = words.indexOf(word, words.indexOf(group.name()) + 1);
  const isVerb = !group.parent && /^events?$/.test(words[at + 1] ?? '');
  const problem = `unknown command '${word}'`;
  const fault = { word, group, words, at, isVerb, count: isVerb ? 2 : 1, problem };
  return (
    firstCorrection(COMMAND_RULES, fault) ?? { problem, next: advise`${helpOf(group)} lists the commands` }
  );
}

const UPGRADE = advise`\`git pull && npm ci && npm run build\` in its checkout upgrades hooktrail; ${hooktrail('subscriptions update')} changes a subscription`;

export const COMMAND_RULES: readonly Rule<UnknownCommand>[] = [
  {
    example: 'events 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    correct: (fault) => {
      const get = isOfSettings(fault.group) ? undefined : getEvent(fault.group);
      return get && isGuid(fault.word) ? replacedBy(get, 0, fault) : undefined;
    },
  },
  {
    example: 'upgrade',
    correct: ({ word, group, words, at, problem }) => {
      const isAlone = !group.parent && at === words.length - 1;
      return isAlone && /^(update|upgrade)$/.test(word) ? { problem, next: UPGRADE } : undefined;
    },
  },
  { example: 'whoami', correct: bySynonym },
  { example: 'evnets count', correct: bySpelling },
];

/** A word after `profiles` or `config` does not mean a command for events. */
function isOfSettings(group: Command): boolean {
  return /^(profiles|config)$/.test(group.name());
}

function everyCommand(group: Command): readonly Command[] {
  return (group.parent ?? group).commands.flatMap((one) => [one, ...one.commands]);
}

function getEvent(group: Command): Command | undefined {
  return everyCommand(group).find((one) => wordsOf(one) === 'events get');
}

function replacedBy(command: Command, count: number, fault: UnknownCommand): Correction {
  const { group, words, at, problem } = fault;
  // Without its flag, `resend ID` would need a second correction.
  const isReplayed = wordsOf(command) === 'webhooks replay' && isGuid(words[at + count] ?? '');
  const flag = isReplayed ? '--id' : FLAGS_OF_WORDS[fault.word];
  const path = [...wordsOf(command).split(' '), ...(flag === undefined ? [] : [flag])];
  const replaced = words.toSpliced(at, count, ...path);
  return { problem, words: group.parent ? replaced.toSpliced(words.indexOf(group.name()), 1) : replaced };
}

function bySynonym(fault: UnknownCommand): Correction | undefined {
  const { word, group, words, at } = fault;
  for (const typed of [`${word} ${words[at + 1]}`, `${group.name()} ${word}`, word]) {
    const called = commandsCalled(typed, fault);
    const correction = called.length > 0 ? oneOfCalled(called, typed, fault) : undefined;
    if (correction) return correction;
  }
  return undefined;
}

function commandsCalled(typed: string, { word, group, isVerb }: UnknownCommand): readonly Command[] {
  const isCalled = (one: Command) => namesOf(one).includes(typed);
  const ofEvents = everyCommand(group).find((one) => one.parent?.name() === 'events' && isCalled(one));
  if (isVerb && ofEvents) return [ofEvents];
  const sibling = group.commands.find(isCalled);
  if (sibling) return [sibling];
  return isOfSettings(group) && typed === word ? [] : everyCommand(group).filter(isCalled);
}

function oneOfCalled(called: readonly Command[], typed: string, fault: UnknownCommand): Correction {
  const { word, words, at, count, problem } = fault;
  const [first, another] = called as [Command, ...Command[]];
  const get = isOfSettings(fault.group) ? undefined : getEvent(fault.group);
  const isOfId = isGuid(words[at + count] ?? '');
  if (another && get && isOfId && called.some((one) => one.parent === get.parent))
    return replacedBy(get, count, fault);
  if (another) return { problem, next: advise`did you mean ${orCommands(called)}?` };
  return replacedBy(first, typed.startsWith(`${word} `) ? 2 : count, fault);
}

function orCommands(commands: readonly Command[]): Advice {
  return commands
    .map((command) => advise`${hooktrail(wordsOf(command))}`)
    .reduce((list, command, index) =>
      index === commands.length - 1 ? advise`${list} or ${command}` : advise`${list}, ${command}`,
    );
}

function bySpelling(fault: UnknownCommand): Correction | undefined {
  const visible = fault.group.createHelp().visibleCommands(fault.group);
  const name = nearest(
    fault.word,
    visible.map((one) => one.name()),
  );
  const meant = visible.find((one) => one.name() === name);
  return meant && replacedBy(meant, 1, fault);
}
