import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { isGuid } from '../items/guids.ts';
import { JQ_FLAG } from '../settings/flags.ts';
import { nearest } from '../settings/nearest-word.ts';
import { parseTime } from '../time/time-text.ts';
import {
  type Correction,
  firstCorrection,
  hasOption,
  helpOf,
  optionsOf,
  type Rule,
  takenText,
  takesCommand,
} from './correction-rules.ts';
import { wordsOf } from './help-text.ts';
import { flagForWord } from './operand-corrections.ts';
import { FLAG_SYNONYMS, SECRET_FLAGS } from './synonyms.ts';

interface UnknownFlag {
  readonly name: string;
  readonly inline: string | undefined;
  readonly following: string | undefined;
  readonly value: string | undefined;
  readonly command: Command;
  readonly words: readonly string[];
  readonly at: number;
  readonly count: number;
  readonly problem: string;
}

export function correctFlag(flag: string, command: Command, words: readonly string[]): Correction {
  const [name = '', inline] = flag.split(/=(.*)/s);
  const at = words.indexOf(flag);
  const next = words[at + 1];
  const isValue =
    inline === undefined &&
    next !== undefined &&
    !next.startsWith('-') &&
    !command.commands.some((one) => one.name() === next);
  const following = isValue ? next : undefined;
  const fault: UnknownFlag = {
    ...{ name, inline, following, command, words, at },
    value: inline ?? following,
    count: following === undefined ? 1 : 2,
    problem: `unknown option '${name}'`,
  };
  return firstCorrection(FLAG_RULES, fault) ?? meantOrMoved(fault);
}

const WITHOUT_ALARM: ReadonlySet<string> = new Set(['explain', 'stats', 'about', 'report']);

export const FLAG_RULES: readonly Rule<UnknownFlag>[] = [
  { example: 'login --client-secret s3cret', correct: refuseSecret },
  { example: 'events watch ./handle.sh --verbosely', correct: behindDashes },
  {
    example: 'events count --failed=true',
    correct: ({ name, inline = '', command, words, at }) => {
      if (!hasOption(command, name)) return undefined;
      const isOff = /^(false|no|off|0)$/i.test(inline);
      return { problem: `${name} takes no value`, words: words.toSpliced(at, 1, ...(isOff ? [] : [name])) };
    },
  },
  {
    example: 'webhooks recover --from exported',
    correct: ({ name, value, command, problem }) => {
      if (name !== '--from' || command.name() !== 'recover' || parseTime(value ?? '')) return undefined;
      const replay = hooktrail('webhooks replay --from', value ?? 'exported');
      return { problem, next: advise`${replay} sends events of an export` };
    },
  },
  {
    // Common properties of failures are not an alarm; a failing subscription is.
    example: 'events explain --exit-code',
    correct: ({ name, command, problem }) => {
      if (name !== '--exit-code' || !WITHOUT_ALARM.has(command.name())) return undefined;
      return {
        problem,
        next: advise`${hooktrail('events health --exit-code')} exits with 10 while something is failing`,
      };
    },
  },
  { example: 'events watch --exec ./handle.sh', correct: asCommandAtEnd },
  { example: 'events search --sort asc', correct: asOrder },
  { example: 'events search --customer acme', correct: asCustomer },
  {
    // The built-in jq already prints raw strings.
    example: "events search --json -q '.[0]' -r",
    correct: ({ name, words, problem }) =>
      JQ_FLAG.test(name) && words.some((one) => /^(-q|--jq)\b/.test(one))
        ? { problem, words: words.flatMap((one) => (one === name ? [] : one.replace(`=${name}`, ''))) }
        : undefined,
  },
  {
    example: 'events search --color never',
    correct: ({ name, value = '', words, at, count, problem }) => {
      if (!/^--colou?r$/.test(name)) return undefined;
      if (/^(never|false|no|off)$/.test(value))
        return { problem, words: words.toSpliced(at, count, '--no-color') };
      return {
        problem,
        next: 'colour is on for a terminal; FORCE_COLOR=1 in the environment forces it, --no-color turns it off',
      };
    },
  },
];

/** A secret in a line is reported alone, regardless of other faults. */
function refuseSecret({ name }: UnknownFlag): undefined {
  const [, next] = SECRET_FLAGS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
  if (next !== undefined) throw new UsageError(`${name}: a secret is never an argument`, { next });
}

function behindDashes({ command, words, at }: UnknownFlag): Correction | undefined {
  const begin = misplacedCommand(command, words);
  if (begin === undefined || begin >= at) return undefined;
  return {
    problem: `${wordsOf(command)} takes ${takenText(command)}, but was given '${words[begin]}'`,
    words: words.toSpliced(begin, 0, '--'),
  };
}

function misplacedCommand(command: Command, words: readonly string[]): number | undefined {
  const [word] = command.args;
  if (!takesCommand(command) || words.includes('--') || word === undefined || word.startsWith('-'))
    return undefined;
  const isOfAnother = flagForWord(word, words).length > 0;
  return isOfAnother ? undefined : words.indexOf(word, words.indexOf(command.name()) + 1);
}

const EXEC_FLAG = /^--(exec|execute|run|cmd|command|on-event|then)$/;

function asCommandAtEnd({
  name,
  value,
  command,
  words,
  at,
  count,
  problem,
}: UnknownFlag): Correction | undefined {
  if (!EXEC_FLAG.test(name) || !takesCommand(command)) return undefined;
  if (value === undefined) return { problem, next: 'give the command at the end of the line, after --' };
  const needsShell = /[^\w@%+=:,./-]/.test(value);
  const run = needsShell ? ['sh', '-c', value] : [value];
  return { problem, words: [...words.toSpliced(at, count), '--', ...run] };
}

const ORDER_FLAG = /^--(sort|sort-by|sort-order|order|order-by|desc|descending|newest|newest-first)$/;
const OLDEST_FIRST = /^(asc|ascending|oldest|oldest-first)$/i;
const NEWEST_FIRST = /^(desc|descending|newest|newest-first)$/i;
const ORDERS =
  "events come newest first, and oldest first with --reverse; by another field with --jq 'sort_by(.field)'";

function asOrder({ name, value, command, words, at, count, problem }: UnknownFlag): Correction | undefined {
  if (!ORDER_FLAG.test(name)) return undefined;
  if (!hasOption(command, '--reverse')) {
    const next = `${wordsOf(command)} has an order of its own; --json or --csv goes to a program that sorts`;
    return { problem, next };
  }
  const order = value ?? name.slice(2);
  if (OLDEST_FIRST.test(order)) return { problem, words: words.toSpliced(at, count, '--reverse') };
  if (NEWEST_FIRST.test(order)) return { problem, words: words.toSpliced(at, count) };
  return { problem, next: ORDERS };
}

/** Flags of other programs that choose a customer. Here that is a subscription, or a field of the service. */
const CUSTOMER_FLAG = /^--(customer|customer-id|tenant|account|merchant)$/;
const BY_CUSTOMER =
  "events are chosen by --subscription, or by a field that names the customer: --where 'customer.name = Acme'";

function asCustomer({
  name,
  value,
  command,
  words,
  at,
  count,
  problem,
}: UnknownFlag): Correction | undefined {
  if (!CUSTOMER_FLAG.test(name)) return undefined;
  const flag = isGuid(value ?? '') ? '--subscription' : '--grep';
  if (value === undefined || !hasOption(command, flag)) return { problem, next: BY_CUSTOMER };
  return { problem, words: words.toSpliced(at, count, flag, value) };
}

function meantOrMoved(fault: UnknownFlag): Correction {
  const { following, command, words, at, count, problem } = fault;
  const meant = wordsMeant(fault);
  const [first = '', ...rest] = meant ?? [];
  const isCommand = /^\w/.test(first);
  if (isCommand)
    return { problem, words: words.with(words.indexOf(command.name()), first).toSpliced(at, 1, ...rest) };
  // A switch has no value, so the next word is separate.
  const isSwitch = meant !== undefined && meant.at(-1) !== following;
  const used = isSwitch ? 1 : count;
  const isEarly = command.commands.length > 0 && at < words.length - used;
  if (meant && !isEarly) return { problem, words: words.toSpliced(at, used, ...meant) };
  return moved(fault, used, isEarly, meant);
}

function moved(
  { name, command, words, at, problem }: UnknownFlag,
  used: number,
  isEarly: boolean,
  meant: readonly string[] | undefined,
): Correction {
  const others = words.toSpliced(at, used);
  const child = command.commands.find((one) => one.name() === others[at]);
  if (!isEarly || !child) return { problem, next: advise`${helpOf(command)} shows its flags` };
  const isNamed = child.commands.some((one) => one.name() === others[at + 1]);
  const flag = meant ?? words.slice(at, at + used);
  const corrected = others.toSpliced(at + (isNamed ? 2 : 1), 0, ...flag);
  return { ...(meant ? { problem } : { misplaced: name }), words: corrected };
}

function wordsMeant({ name, value, command }: UnknownFlag): readonly string[] | undefined {
  const meanings = meaningsOf(name, value);
  const near = meanings.length === 0 ? nearFlag(name, command) : undefined;
  const possible = near === undefined ? meanings.map((one) => one.split(' ')) : [[near]];
  const options = optionsOf(command);
  const isHere = ([word = '']: readonly string[]) =>
    options.some(({ long }) => long === word) || command.parent?.commands.some((one) => one.name() === word);
  const isValued = (meant: readonly string[]) =>
    meant.length === 1 && options.find(({ long }) => long === meant[0])?.required === true;
  // Without a value it would swallow the next flag.
  const meant = possible.find((one) => isHere(one) && (value !== undefined || !isValued(one)));
  return meant && value !== undefined && isValued(meant) ? [...meant, value] : meant;
}

function meaningsOf(name: string, value = ''): readonly string[] {
  const [, ...meanings] = FLAG_SYNONYMS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
  // In `webhooks replay --to URL` it is not a time.
  if (name === '--to' && /^https?:/.test(value)) return ['--forward-to', ...meanings];
  if (name === '--from' && parseTime(value)) return ['--since', ...meanings];
  if (/^--(last|count)$/.test(name) && /^\d{1,5}$/.test(value)) return ['--limit', '--count', ...meanings];
  return meanings;
}

/** Returns the flag that was probably misspelt. Flags of a group's commands do not count. */
function nearFlag(name: string, command: Command): string | undefined {
  if (!name.startsWith('--') || command.commands.length > 0) return undefined;
  const isNear = (long: string) =>
    long !== '--version' && (name.startsWith('--no') || !long.startsWith('--no-'));
  // Includes hidden synonyms such as `--after`, which are misspelt like other flags.
  const names = optionsOf(command).flatMap(({ long }) => (long && isNear(long) ? [long.slice(2)] : []));
  const near = nearest(name.slice(2), names);
  return near === undefined ? undefined : `--${near}`;
}
