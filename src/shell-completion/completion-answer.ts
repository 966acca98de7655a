import type { Argument, Command, Option } from 'commander';
import { tree } from '../command-tree.ts';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../events/event-types.ts';
import { kindOfArgument, kindOfOption, optionKinds, type ValueKind } from '../help/command-description.ts';
import { topics } from '../help/topics.ts';
import { buildProgram, type Program } from '../program.ts';
import { settingNames } from '../settings/setting-names.ts';
import { readConfig } from '../settings/settings.ts';
import { zoneNames } from '../time/time-zone.ts';

/**
 * Answers a completion script: on the first line `files`, `directories` or `words`, then one word per line, a tab and what
 * it means. `argv` are the words of the line up to the cursor. Never fails: a shell has nowhere to show an error.
 */
export async function answer([, ...words]: readonly string[], context: Context): Promise<void> {
  try {
    await context.stdout.write(await candidatesFor(words, context));
  } catch {
    // The command reports the error when it is run.
  }
}

async function candidatesFor(words: readonly string[], context: Context): Promise<string> {
  const program = buildProgram(context, async () => 0);
  const expected = await expectedAt(program, words);
  if ('words' in expected) {
    const { typed } = expected;
    const found = expected.words.filter(({ word }) => begins(word, typed));
    // A command that is typed without its group, as in `hooktrail sea`.
    return lines(found.length > 0 || words.length > 1 ? found : groupsWith(typed));
  }
  const { prefix, line } = expected;
  const kind = expected.kind === 'setting-value' ? kindOfSetting(line.operands[0]) : expected.kind;
  if (kind === 'files' || kind === 'directories') return `${kind}\n`;
  const values = await valuesOf(kind, line, context);
  // A list goes on after its last comma.
  const head = isList(kind) ? line.typed.slice(0, line.typed.lastIndexOf(',') + 1) || prefix : prefix;
  const given = head.slice(prefix.length).split(',');
  return lines(
    values
      .filter(({ word }) => !given.includes(word))
      .map(({ word, meaning }) => ({ word: head + word, meaning }))
      .filter(({ word }) => begins(word, line.typed)),
  );
}

/** In any case of letters. */
function begins(word: string, typed: string): boolean {
  return word.toLowerCase().startsWith(typed.toLowerCase());
}

function lines(candidates: readonly Candidate[]): string {
  const texts = candidates.map(({ word, meaning }) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}`);
  return ['words', ...texts].map((line) => `${line}\n`).join('');
}

/** The groups with a command that begins so, or that people call so. */
function groupsWith(typed: string): Candidate[] {
  return tree.flatMap((group) => {
    const children = 'children' in group ? group.children : [];
    const meant = children.find(({ name, alsoCalled = [] }) =>
      [name, ...alsoCalled].some((word) => typed !== '' && begins(word, typed)),
    );
    return meant ? [{ word: group.name, meaning: `${meant.name}: ${meant.summary}` }] : [];
  });
}

function isList(kind: ValueKind): boolean {
  return kind === 'fields' || kind === 'event-types' || typeof kind === 'object';
}

/** The values of a kind that are known without a request. */
async function valuesOf(kind: ValueKind, line: Line, context: Context): Promise<readonly Candidate[]> {
  if (typeof kind === 'object') return plainWords(kind.words);
  switch (kind) {
    case 'profiles':
      return Object.keys((await readConfig(context)).profiles).map((word) => ({ word, meaning: 'profile' }));
    case 'settings':
      return Object.values(settingNames).map(({ key, meaning }) => ({ word: key, meaning }));
    case 'timezones':
      return plainWords(zoneNames());
    case 'times':
      return TIMES;
    case 'fields':
      return plainWords(FIELDS);
    case 'commands':
      return commandsBelow([...line.path.split(' ').slice(0, -1), ...line.operands]);
    case 'event-types':
      return plainWords(await keptEventTypes(line.profile, context));
    default:
      return [];
  }
}

function plainWords(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, meaning: '' }));
}

const TIMES: readonly Candidate[] = [
  { word: '15m', meaning: 'the last 15 minutes' },
  { word: '1h', meaning: 'the last hour' },
  { word: '24h', meaning: 'the last day' },
  { word: '7d', meaning: 'the last week' },
  { word: 'today', meaning: 'since midnight' },
  { word: 'yesterday', meaning: 'since midnight before' },
];

/** The fields that searches filter by: others are not known before an event is read. */
const FIELDS = ['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'];

function kindOfSetting(key: string | undefined): ValueKind {
  const setting = Object.values(settingNames).find((one) => one.key === key);
  return optionKinds[setting?.flag ?? ''] ?? 'anything';
}

/** The commands of a group; of the program itself also the topics. */
function commandsBelow([group]: readonly string[]): Candidate[] {
  const found = tree.find(({ name }) => name === group);
  const nodes =
    group === undefined ? [...tree, ...topics] : found && 'children' in found ? found.children : [];
  return nodes.map(({ name, summary }) => ({ word: name, meaning: summary }));
}

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
