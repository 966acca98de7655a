import type { Command, Option } from 'commander';
import { type Advice, type AdvisedCommand, advise, hooktrail } from '../advice.ts';
import type { CommandTree, ParseFault } from '../command.ts';
import { UsageError } from '../errors.ts';
import { SEVERAL_PLACES } from '../filters/event-filters.ts';
import { isGuid } from '../items/items.ts';
import { JQ_FLAG } from '../settings/flags.ts';
import { nearest } from '../settings/nearest-word.ts';
import { shellWord } from '../shell-words.ts';
import { parseTime } from '../time/time-text.ts';
import { explanationOf, wordsOf } from './help-text.ts';

/** Words that people try for a command: one, or two that follow each other. */
const COMMAND_SYNONYMS: Readonly<Record<string, string>> = {
  login: 'auth login, auth, signin, sign-in, configure, init, setup, profiles add, profiles create',
  logout: 'auth logout, signout, sign-out',
  status: 'auth status, whoami, me, config current-context',
  token: 'auth token, auth print-access-token',
  'event-types': 'types, topics, get event-types, list event-types, get types, list types',
  'events search': 'list, ls, query, filter, latest, recent, logs, log, get events, show events',
  'events find': 'find, lookup, locate, grep',
  'events browse': 'open, tui, ui',
  'events get': 'show, view, describe, inspect, retrieve',
  'events stats': 'statistics, summary, metrics',
  'events watch': 'tail, follow, logs tail',
  'events explain': 'why, diagnose',
  'events health':
    'subscriptions, status, get subscriptions, list subscriptions, list webhooks, webhooks list',
  'events export': 'download, dump',
  'webhooks listen': 'forward, receive, serve',
  'webhooks recover': 'catch-up',
  'webhooks replay': 'retry, resend, rerun, redeliver',
  'webhooks send': 'test, trigger',
  profiles: 'profile, contexts, environments, list profiles, get profiles, config get-contexts',
  'profiles use': 'switch, select, set, config use-context',
  'profiles delete': 'remove, rm',
  config: 'settings, configuration, configure list, config view, config show',
  'config get': 'configure get',
  'config set': 'configure set',
  'config unset': 'delete, remove, rm',
  doctor: 'check, diagnose',
  sandbox: 'mock, server',
  help: 'man, docs',
};

/**
 * Flags of other programs, and of the service's own fields: each stands for the first of its meanings that
 * the command has. A flag with a value stands for a switch. A meaning without a dash is a command beside the
 * one that was typed.
 */
const FLAG_SYNONYMS: readonly (readonly [typed: string, ...meanings: string[]])[] = [
  ['--format --output-format --out', '--output'],
  ['--out-file --output-to --save', '--output-file'],
  ['--event-id --event --ids', '--id', '--fields eventId --no-header'],
  ['--event-type --types --topic --event-name', '--type'],
  ['--subscription-id --sub', '--subscription'],
  ['--publish-status --delivery-status --state', '--status'],
  ['--start --start-time --begin --last --period --newer-than --from-time --from-date', '--since'],
  ['--end --end-time --to --older-than --to-time --to-date', '--until'],
  ['--filter --selector --field-selector --condition -l', '--where', '--match'],
  ['--search --text --contains --find --filter-pattern', '--grep', '--match'],
  ['--tail --head --max --max-items --max-results --size --top --lines -L -c', '--limit', '--count'],
  ['--columns --select --field --cols', '--fields'],
  ['--query --filter-output', '--jq'],
  ['--jsonl --json-lines', '--ndjson'],
  ['--table', '--output table'],
  ['--markdown', '--output markdown'],
  ['--tz --zone --time-zone', '--timezone'],
  ['--utc', '--timezone UTC'],
  ['--local --local-time', '--timezone local'],
  ['--no-headers --no-headings', '--no-header'],
  ['--failures --errors --failed-only --error', '--failed'],
  ['--success --succeeded --delivered', '--status SUCCESS'],
  ['--oldest --oldest-first --asc', '--reverse'],
  ['--callback-url --callback --webhook --webhook-url', '--url'],
  ['--endpoint', '--url', '--base-url'],
  ['--server --host --api-url --service', '--base-url'],
  ['--group-by --group', '--by'],
  ['--handler --target --forward --destination', '--forward-to'],
  ['--data --body-file --file --input', '--input', '--body', '--from', '--output-file'],
  ['--dryrun --preview', '--dry-run'],
  ['--all-namespaces -A', '--all'],
  ['--force --confirm -y', '--yes', '--replace'],
  ['--env --environment --context -p', '--profile'],
  ['--silent -q -s', '--quiet'],
  ['-d', '--debug'],
  ['--count', 'count'],
  ['--follow --watch --live -f -w', 'watch'],
  ['--curl', 'search --curl'],
];

/** Secrets that people type as arguments, where other users and the shell's history see them. */
const SECRET_FLAGS: readonly (readonly [typed: string, next: Advice])[] = [
  [
    '--client-secret --secret',
    advise`${hooktrail('login')} asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET`,
  ],
  [
    '--token --access-token --api-key',
    'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
  ],
  [
    '--passphrase --password',
    'set HOOKTRAIL_PASSPHRASE, HOOKTRAIL_PASSPHRASE_FILE or HOOKTRAIL_PASSPHRASE_COMMAND',
  ],
  [
    '--api-token',
    advise`set HOOKTRAIL_API_TOKEN, or save it with ${hooktrail('webhooks listen --save-token')}`,
  ],
];

/** Flags by which other programs take a command to run. */
const EXEC_FLAG = /^--(exec|execute|run|cmd|command|on-event|then)$/;

const MOST_CORRECTIONS = 50;
const HOPELESS = { problem: 'no command is meant', next: advise`${hooktrail('--help')} lists the commands` };

/**
 * Explains why commander refuses a line, with the corrected line as the next step where there is one: one
 * fault after the other is corrected, as commander names them.
 */
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
  // A flag that is also the value of another could be moved to and fro.
  for (let tries = 0; fault; tries++) {
    const correction: Correction | undefined = tries < MOST_CORRECTIONS ? correct(fault, words) : HOPELESS;
    if (!correction) break;
    if (correction.problem) problems.push(correction.problem);
    if (correction.next) return new UsageError(problems.join('; '), { next: correction.next });
    misplaced ??= correction.misplaced;
    words = correction.words ?? words;
    fault = await faultOf([...words, ...argv.slice(end)]);
  }
  const message = problems[0] ?? (misplaced && `${misplaced} stands before the command`);
  if (!message) return explained(first);
  return new UsageError(message, {
    next: lineOf([...words, ...argv.slice(end)], argv),
  });
}

/** The line with the value that was meant, if the value stands in the line. */
export function withCorrectedValue(error: UsageError, argv: readonly string[]): UsageError {
  const { correction, message, details } = error;
  if (!correction) return error;
  const at = argv.findIndex((word) => word === correction.typed || word.endsWith(`=${correction.typed}`));
  if (at === -1) return error;
  const word = argv[at] as string;
  const meant = word.slice(0, word.length - correction.typed.length) + correction.meant;
  const words = argv.toSpliced(at, 1, meant, ...(correction.followedBy ?? []));
  return new UsageError(message, { details, next: lineOf(words, argv) });
}

const YES_FLAGS = ['--yes', '-y'];

/**
 * A corrected line. A guess is not done unasked: it leaves out the yes that was given to the line with the
 * fault.
 */
function lineOf(words: readonly string[], argv: readonly string[]): string {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const given = YES_FLAGS.filter((flag) => argv.includes(flag));
  const asked = words.slice(0, end).filter((word) => !given.includes(word));
  return ['hooktrail', ...asked, ...words.slice(end)].map(shellWord).join(' ');
}

/** The name of a command, and the words that people try for it. */
export function namesOf(command: Command): string[] {
  return [command.name(), ...(COMMAND_SYNONYMS[wordsOf(command)]?.split(', ') ?? [])];
}

/** A complaint that no other line is the answer to. */
function explained(error: ParseFault): UsageError {
  const { command } = error;
  const help = helpOf(command);
  const value = /^error: option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/.exec(error.message);
  if (value)
    return new UsageError(`${value[1]} needs a value: ${value[2]}`, { next: advise`${help} says which` });
  const argument = /^error: missing required argument '(.*)'$/.exec(error.message)?.[1];
  if (argument === undefined)
    return new UsageError(error.message.replace(/^error: /, ''), {
      next: advise`${help} shows what it takes`,
    });
  const [example] = explanationOf(command).examples;
  return new UsageError(`${wordsOf(command)} needs <${argument}>`, {
    next: example ? advise`for instance ${commandOfExample(example)}` : advise`${help}`,
  });
}

function helpOf(command: Command): AdvisedCommand {
  return hooktrail(`${wordsOf(command)} --help`.trimStart());
}

/** The command of a line such as `$ hooktrail logout  # of this profile`. */
function commandOfExample(line: string): AdvisedCommand {
  const [, words = ''] = /^\$ hooktrail (.*?)( {2,}#.*)?$/.exec(line) ?? [];
  return hooktrail(words);
}

/** `a, b or c`. */
function orCommands(commands: readonly Command[]): Advice {
  return commands
    .map((command) => advise`${hooktrail(wordsOf(command))}`)
    .reduce((list, command, index) =>
      index === commands.length - 1 ? advise`${list} or ${command}` : advise`${list}, ${command}`,
    );
}

/**
 * One fault of the line, and the words of the line without it, or the next step if no corrected line can be
 * guessed.
 */
interface Correction {
  readonly problem?: string;
  /** A flag that may be none of a fault: it was moved behind the command. */
  readonly misplaced?: string;
  readonly words?: readonly string[];
  readonly next?: Advice;
}

function correct({ code, message, command }: ParseFault, words: readonly string[]): Correction | undefined {
  if (code === 'commander.unknownCommand') return correctCommand(command, words);
  if (code === 'commander.excessArguments') return correctOperand(command, words);
  const [, flag] = /^error: unknown option '(.*)'$/s.exec(message) ?? [];
  return flag === undefined ? undefined : correctFlag(flag, command, words);
}

/**
 * Replaces a word by the command that it means, together with the one that follows it if both are its name.
 */
function correctCommand(group: Command, words: readonly string[]): Correction {
  const [word = ''] = group.args;
  const problem = `unknown command '${word}'`;
  const at = words.indexOf(word, words.indexOf(group.name()) + 1);
  const replacedBy = (command: Command, count: number): Correction => {
    // `resend ID` without its flag would be corrected once more.
    const isReplayed = wordsOf(command) === 'webhooks replay' && isGuid(words[at + count] ?? '');
    const path = [...wordsOf(command).split(' '), ...(isReplayed ? ['--id'] : [])];
    const replaced = words.toSpliced(at, count, ...path);
    return { problem, words: group.parent ? replaced.toSpliced(words.indexOf(group.name()), 1) : replaced };
  };
  // A word about profiles or settings means no command about events.
  const isOfSettings = /^(profiles|config)$/.test(group.name());
  const all = (group.parent ?? group).commands.flatMap((one) => [one, ...one.commands]);
  // An id is that of an event.
  const get = isOfSettings ? undefined : all.find((one) => wordsOf(one) === 'events get');
  if (get && isGuid(word)) return replacedBy(get, 0);
  // `get events` and `describe event ID` say the verb before the noun.
  const isVerb = !group.parent && /^events?$/.test(words[at + 1] ?? '');
  const count = isVerb ? 2 : 1;
  const isOfId = isGuid(words[at + count] ?? '');
  for (const typed of [`${word} ${words[at + 1]}`, `${group.name()} ${word}`, word]) {
    const isCalled = (one: Command) => namesOf(one).includes(typed);
    const sibling = group.commands.find(isCalled);
    const others = isOfSettings && typed === word ? [] : all.filter(isCalled);
    const called = sibling ? [sibling] : others;
    const ofEvents = isVerb ? called.find((one) => one.parent?.name() === 'events') : undefined;
    if (called.length > 1 && get && isOfId && called.some((one) => one.parent === get.parent))
      return replacedBy(get, count);
    if (ofEvents) return replacedBy(ofEvents, count);
    if (called.length > 1) return { problem, next: advise`did you mean ${orCommands(called)}?` };
    if (called[0]) return replacedBy(called[0], typed.startsWith(`${word} `) ? 2 : count);
  }
  const visible = group.createHelp().visibleCommands(group);
  const names = visible.map((one) => one.name());
  const meant = visible[names.indexOf(nearest(word, names) ?? '')];
  return meant ? replacedBy(meant, 1) : { problem, next: advise`${helpOf(group)} lists the commands` };
}

/** Replaces a flag that the command does not have, or moves one behind the command. */
function correctFlag(flag: string, command: Command, words: readonly string[]): Correction {
  const [name = '', inline] = flag.split(/=(.*)/s);
  const at = words.indexOf(flag);
  const isFree = (word: string | undefined) =>
    word !== undefined && !word.startsWith('-') && !command.commands.some((one) => one.name() === word);
  const following = inline === undefined && isFree(words[at + 1]) ? words[at + 1] : undefined;
  const [, secret] = SECRET_FLAGS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
  if (secret) throw new UsageError(`${name}: a secret is never an argument`, { next: secret });
  const beforeCommand = misplacedCommand(command, words);
  if (beforeCommand !== undefined && beforeCommand < at)
    return {
      problem: `${wordsOf(command)} takes ${takenText(command)}, but was given '${words[beforeCommand]}'`,
      words: words.toSpliced(beforeCommand, 0, '--'),
    };
  if (optionsOf(command).some(({ long }) => long === name)) {
    const isOff = /^(false|no|off|0)$/i.test(inline ?? '');
    return { problem: `${name} takes no value`, words: words.toSpliced(at, 1, ...(isOff ? [] : [name])) };
  }
  const problem = `unknown option '${name}'`;
  if (name === '--from' && command.name() === 'recover' && !parseTime(inline ?? following ?? '')) {
    const replay = hooktrail('webhooks replay --from', inline ?? following ?? 'exported');
    return { problem, next: advise`${replay} sends events of an export` };
  }
  const count = following === undefined ? 1 : 2;
  if (EXEC_FLAG.test(name) && takesCommand(command)) {
    const line = inline ?? following;
    if (line === undefined) return { problem, next: 'give the command at the end of the line, after --' };
    const run = /[^\w@%+=:,./-]/.test(line) ? ['sh', '-c', line] : [line];
    return { problem, words: [...words.toSpliced(at, count), '--', ...run] };
  }
  const ordered = orderMeant(name, inline ?? following, command);
  if (ordered)
    return {
      problem,
      ...(ordered.flags ? { words: words.toSpliced(at, count, ...ordered.flags) } : ordered),
    };
  if (CUSTOMER_FLAG.test(name)) {
    const value = inline ?? following;
    const meant = value === undefined ? undefined : customerMeant(value, command);
    if (!meant) return { problem, next: BY_CUSTOMER };
    return { problem, words: words.toSpliced(at, count, ...meant) };
  }
  // The built-in jq prints so anyhow.
  if (JQ_FLAG.test(name) && words.some((one) => /^(-q|--jq)\b/.test(one)))
    return { problem, words: words.flatMap((one) => (one === name ? [] : one.replace(`=${name}`, ''))) };
  if (/^--colou?r$/.test(name)) {
    if (/^(never|false|no|off)$/.test(inline ?? following ?? ''))
      return { problem, words: words.toSpliced(at, count, '--no-color') };
    const next =
      'colour is on for a terminal; FORCE_COLOR=1 in the environment forces it, --no-color turns it off';
    return { problem, next };
  }
  const meant = flagMeant(name, inline ?? following, command);
  const [first = '', ...rest] = meant ?? [];
  if (/^\w/.test(first))
    return { problem, words: words.with(words.indexOf(command.name()), first).toSpliced(at, 1, ...rest) };
  const used = meant && meant.at(-1) !== following ? 1 : count;
  const others = words.toSpliced(at, used);
  const isEarly = command.commands.length > 0 && at < others.length;
  if (meant && !isEarly) return { problem, words: words.toSpliced(at, used, ...meant) };
  const child = command.commands.find((one) => one.name() === others[at]);
  if (!isEarly || !child) return { problem, next: advise`${helpOf(command)} shows its flags` };
  const isNamed = child.commands.some((one) => one.name() === others[at + 1]);
  const moved = others.toSpliced(at + (isNamed ? 2 : 1), 0, ...(meant ?? words.slice(at, at + used)));
  return { ...(meant ? { problem } : { misplaced: name }), words: moved };
}

/** Returns the words for a flag that the command does not have. `value` is the word that may be its value. */
function flagMeant(name: string, value: string | undefined, command: Command): string[] | undefined {
  const options = optionsOf(command);
  const [, ...meanings] = FLAG_SYNONYMS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
  // In `webhooks replay --to URL` it is no time.
  if (name === '--to' && /^https?:/.test(value ?? '')) meanings.unshift('--forward-to');
  if (name === '--from' && parseTime(value ?? '')) meanings.unshift('--since');
  if (/^--(last|count)$/.test(name) && /^\d{1,5}$/.test(value ?? '')) meanings.unshift('--limit', '--count');
  // A flag that means something elsewhere is not misspelt, nor one that a command below may have.
  const isMisspelt = meanings.length === 0 && name.startsWith('--') && command.commands.length === 0;
  const isNear = (long: string) =>
    long !== '--version' && (name.startsWith('--no') || !long.startsWith('--no-'));
  const names = options.flatMap(({ long, hidden }) =>
    long && !hidden && isNear(long) ? [long.slice(2)] : [],
  );
  const near = isMisspelt ? nearest(name.slice(2), names) : undefined;
  const isHere = ([word = '']: readonly string[]) =>
    options.some(({ long }) => long === word) || command.parent?.commands.some((one) => one.name() === word);
  const isValued = (meant: readonly string[]) =>
    meant.length === 1 && options.find(({ long }) => long === meant[0])?.required === true;
  const possible = near === undefined ? meanings.map((one) => one.split(' ')) : [[`--${near}`]];
  // Without a value it would take the next flag for one.
  const meant = possible.find((one) => isHere(one) && (value !== undefined || !isValued(one)));
  return meant && value !== undefined && isValued(meant) ? [...meant, value] : meant;
}

/**
 * Flags by which other programs choose a customer. Here it is a subscription, or a field of the service's
 * own.
 */
const CUSTOMER_FLAG = /^--(customer|customer-id|tenant|account|merchant)$/;
const BY_CUSTOMER =
  "events are chosen by --subscription, or by a field that names the customer: --where 'customer.name = Acme'";

function customerMeant(value: string, command: Command): string[] | undefined {
  const flag = isGuid(value) ? '--subscription' : '--grep';
  return optionsOf(command).some(({ long }) => long === flag) ? [flag, value] : undefined;
}

/** Flags by which other programs put results in order. */
const ORDER_FLAG = /^--(sort|sort-by|sort-order|order|order-by|desc|descending|newest|newest-first)$/;
const OLDEST_FIRST = /^(asc|ascending|oldest|oldest-first)$/i;
const NEWEST_FIRST = /^(desc|descending|newest|newest-first)$/i;

/** What a flag of order means: flags that give it, none for the usual order, or what to do instead. */
function orderMeant(
  name: string,
  value: string | undefined,
  command: Command,
): { readonly flags?: readonly string[]; readonly next?: string } | undefined {
  if (!ORDER_FLAG.test(name)) return undefined;
  if (!optionsOf(command).some(({ long }) => long === '--reverse'))
    return {
      next: `${wordsOf(command)} has an order of its own; --json or --csv goes to a program that sorts`,
    };
  const order = value ?? name.slice(2);
  if (OLDEST_FIRST.test(order)) return { flags: ['--reverse'] };
  return NEWEST_FIRST.test(order) ? { flags: [] } : { next: ORDERS };
}

const ORDERS =
  "events come newest first, and oldest first with --reverse; by another field with --jq 'sort_by(.field)'";

function optionsOf(command: Command): readonly Option[] {
  let root = command;
  while (root.parent) root = root.parent;
  return root === command ? command.options : [...command.options, ...root.options];
}

/** A word of a command that takes fewer becomes the flag that it is the value of. */
function correctOperand(command: Command, words: readonly string[]): Correction {
  const { args } = command;
  const taken = command.registeredArguments.filter(({ variadic }) => !variadic);
  const word = args[taken.length] as string;
  const problem = `${wordsOf(command)} takes ${takenText(command)}, but was given '${word}'`;
  // A search or a summary of nothing but ids is meant to show those events.
  const isShown = /^events (search|explain|stats)$/.test(wordsOf(command));
  if (isShown && args.every(isGuid) && words.length === args.length + 2)
    return { problem, words: words.with(1, 'get') };
  const flags = ['--help', ...optionsOf(command).map(({ long }) => long)];
  const at = words.lastIndexOf(word);
  // A time without its quotes: `--since 2026-11-20 08:30`, `--since=2 hours ago`.
  const [, flag = '', start] = /^(--\w+=)?(.*)$/s.exec(words[at - 1] ?? '') ?? [];
  for (let end = words.length; at > 0 && end > at; end--) {
    const time = [start, ...words.slice(at, end)].join(' ');
    if (parseTime(time)) return { problem, words: words.toSpliced(at - 1, end - at + 1, `${flag}${time}`) };
  }
  const isFile = /\.(nd)?jsonl?(\.gz)?$|^[^:]+\//.test(word);
  if (isFile && words.includes('--from')) return { problem, next: SEVERAL_PLACES };
  const isText = args.length === taken.length + 1 && /^[^=]{3,}$/.test(word);
  const texts = isText ? ['--grep', '--match'] : [];
  const meanings = [...flagForWord(word, words), ...texts.map((flag) => [flag, word])];
  const meant = meanings.find(([flag]) => flags.includes(flag));
  if (meant && at !== -1) return { problem, words: words.toSpliced(at, 1, ...meant) };
  if (takesCommand(command) && at !== -1 && args.length > 1)
    return { problem, words: words.toSpliced(words.indexOf(word), 0, '--') };
  return {
    problem,
    next: flags.includes('--since')
      ? advise`events are chosen by filters: see ${hooktrail('help filters')}`
      : advise`${helpOf(command)} shows what it takes`,
  };
}

/** The index of the first word of a command of the user's that was typed without `--`, if there is one. */
function misplacedCommand(command: Command, words: readonly string[]): number | undefined {
  const [word] = command.args;
  if (!takesCommand(command) || words.includes('--') || word === undefined || word.startsWith('-'))
    return undefined;
  const isOfAnother = flagForWord(word, words).length > 0;
  return isOfAnother ? undefined : words.indexOf(word, words.indexOf(command.name()) + 1);
}

/** What a command takes beside its flags, in words. */
function takenText(command: Command): string {
  if (takesCommand(command)) return 'a command after --';
  const last = command.registeredArguments.at(-1);
  return last ? `only <${last.name()}>` : 'no words';
}

/** True if the words after `--` are a command of the user's. */
function takesCommand({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.variadic && argument.name() === 'command');
}

/** The flags that a word may be the value of; the first that the command has is meant. */
function flagForWord(word: string, words: readonly string[]): string[][] {
  if (/^(failed|help)$/i.test(word)) return [[`--${word.toLowerCase()}`]];
  if (/^success$/i.test(word)) return [['--status', 'SUCCESS']];
  // A summary of one event says nothing.
  const isSummed = words.some((one) => /^(explain|health|stats|report)$/.test(one));
  if (isGuid(word)) return [[isSummed ? '--subscription' : '--id', word]];
  if (/^https?:/.test(word)) return ['--forward-to', '--auth-url', '--base-url'].map((flag) => [flag, word]);
  if (/^log(in|out)$/.test(words[0] ?? '')) return [['--profile', word]];
  const isWritten = /^--(nd)?json$/.test(words[words.lastIndexOf(word) - 1] ?? '');
  if (/\.(csv|md|txt)$/.test(word)) return [['--output-file', word]];
  if (/\.(nd)?jsonl?(\.gz)?$/.test(word)) return [[isWritten ? '--output-file' : '--from', word]];
  if (parseTime(word)) return [[/ --(since|after)\b/.test(words.join(' ')) ? '--until' : '--since', word]];
  const isList = words.includes('--json') && /^[\w.-]+(,[\w.-]+)*$/.test(word);
  const isType = /^[\w-]+\.[\w.*-]+$/.test(word);
  return [...(isList ? [['--fields', word]] : []), ...(isType ? [['--type', word]] : [])];
}
