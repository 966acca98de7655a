import type { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../filters/event-types.ts';
import { KNOWN_FIELDS } from '../items/known-fields.ts';
import { keptSubscriptions, wordFor } from '../names/kept-subscriptions.ts';
import { settingNames } from '../settings/setting-names.ts';
import { loadRunSettings, type RunSettings, readConfig } from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import { zoneNames } from '../time/time-zone.ts';
import {
  isRepeatable,
  kindOfArgument,
  kindOfOption,
  optionKinds,
  type ValueKind,
} from './command-description.ts';
import { factsOf, flagText, wordsOf } from './help-text.ts';
import { buildProgram, type Program } from './program.ts';
import { namesOf } from './synonyms.ts';
import { topics } from './topics.ts';

/**
 * Answers a completion script: on the first line `files`, `directories` or `words`, then one word per line, a
 * tab and its meaning. `argv`: the words of the line up to the cursor. Never fails: a shell has nowhere to
 * show an error.
 */
export async function answer([, ...words]: readonly string[], context: Context): Promise<void> {
  try {
    await context.stdout.write(await candidatesFor(words, context));
  } catch {
    // The command itself will report the error.
  }
}

async function candidatesFor(words: readonly string[], context: Context): Promise<string> {
  const program = buildProgram(context, async () => 0);
  const expected = await expectedAt(program, words);
  const { typed, operands } = expected.line;
  if ('words' in expected) {
    const found = expected.words.filter(({ word }) => begins(word, typed));
    // Finds a command typed without its group, as in `hooktrail sea`.
    return textOf(found.length > 0 || words.length > 1 ? found : groupsWith(typed, program.root));
  }
  const { prefix } = expected;
  const setting = Object.values(settingNames).find(({ key }) => key === operands[0]);
  const ofSetting = optionKinds[setting?.flag ?? ''] ?? 'anything';
  const kind = expected.kind === 'setting-value' ? ofSetting : expected.kind;
  if (kind === 'files' || kind === 'directories') return `${kind}\n`;
  const values = await valuesOf(kind, expected.line, context);
  const isList = kind === 'fields' || kind === 'event-types' || typeof kind === 'object';
  const head = isList ? typed.slice(0, typed.lastIndexOf(',') + 1) || prefix : prefix;
  const given = head.slice(prefix.length).split(',');
  return textOf(
    values
      .filter(({ word }) => !given.includes(word))
      .map(({ word, meaning }) => ({ word: head + word, meaning }))
      .filter(({ word }) => begins(word, typed)),
  );
}

function begins(word: string, typed: string): boolean {
  return word.toLowerCase().startsWith(typed.toLowerCase());
}

/** Leaves out words, such as names from the service, that would break the line or control the terminal. */
function textOf(candidates: readonly Candidate[]): string {
  const texts = candidates
    .filter(({ word }) => terminalSafeLine(word) === word)
    .map(({ word, meaning }) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}\n`);
  return `words\n${texts.join('')}`;
}

interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/**
 * Candidates for the end of a command line: words of the tree, or values of a kind after a prefix such as
 * `--output=`.
 */
type Expected = { readonly line: Line } & (
  | { readonly words: readonly Candidate[] }
  | { readonly kind: ValueKind; readonly prefix: string }
);

export async function expectedAt(program: Program, argv: readonly string[]): Promise<Expected> {
  const words = joinedAtEquals(argv);
  const line = await readLine(program, words);
  const { command, options, operands, typed } = line;
  const option = [...options.keys()].find((one) => options.get(one) === CURSOR);
  if (option) return { kind: kindOfOption(option), prefix: prefixOf(typed), line };
  if (typed.startsWith('-') && !words.slice(0, -1).includes('--'))
    return { words: typed.includes('=') ? [] : optionsAfter(line), line };
  const subcommands = operands.length === 0 ? commandsOf(command) : [];
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[operands.length] ?? (last?.variadic ? last : undefined);
  if (subcommands.length > 0 || !argument) return { words: subcommands, line };
  return { kind: kindOfArgument(wordsOf(command), argument), prefix: '', line };
}

interface Line {
  readonly command: Command;
  readonly options: ReadonlyMap<Option, string | undefined>;
  readonly operands: readonly string[];
  readonly typed: string;
}

/** Stands in for the word being typed: its position after commander's parsing shows its kind. */
const CURSOR = '\0cursor';

/** Makes commander parse a line, level by level as it dispatches commands, but without validating values. */
async function readLine({ root, declare }: Program, words: readonly string[]): Promise<Line> {
  const typed = words.at(-1) ?? '';
  const options = new Map<Option, string | undefined>();
  let command = root;
  let operands: string[] = [];
  let unknown = [...words.slice(0, -1), prefixOf(typed) + CURSOR];
  for (;;) {
    await declare(command);
    for (const option of command.options) {
      delete option.parseArg;
      command.on(`option:${option.name()}`, (value?: string) => options.set(option, value));
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
  return { command, options, operands: cursor === -1 ? operands : operands.slice(0, cursor), typed };
}

function prefixOf(typed: string): string {
  return /^--[^=]+=/.exec(typed)?.[0] ?? '';
}

/** bash passes `--output=json` as three words, and `--output=` as two. */
function joinedAtEquals(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    if (word !== '=' || !words[index - 1]?.startsWith('--')) return [word];
    return index === words.length - 1 ? [''] : [];
  });
}

function optionsAfter({ command, options }: Line): Candidate[] {
  const helper = command.createHelp();
  helper.showGlobalOptions = true;
  const global = helper.visibleGlobalOptions(command).filter(({ long }) => long !== '--version');
  return [...helper.visibleOptions(command), ...global]
    .filter((option) => isRepeatable(option) || !options.has(option))
    .map((option) => ({
      word: option.long as string,
      meaning: flagText(option.description, factsOf(option)),
    }));
}

function commandsOf(command: Command): Candidate[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((child) => ({ word: child.name(), meaning: child.description() }));
}

function groupsWith(typed: string, root: Command): Candidate[] {
  if (typed === '') return [];
  return root.commands.flatMap((group) => {
    const meant = group.commands.find((one) => namesOf(one).some((word) => begins(word, typed)));
    return meant ? [{ word: group.name(), meaning: `${meant.name()}: ${meant.description()}` }] : [];
  });
}

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
      return plainWords(await fieldsAt(line, context));
    case 'commands':
      return explainedBy(line);
    case 'event-types':
      return plainWords(keptEventTypes(await settingsOf(line, context), context));
    case 'subscriptions': {
      const kept = keptSubscriptions(await settingsOf(line, context), context);
      const words = kept.map((one) => ({ one, word: wordFor(one, kept) }));
      const byWord = words.map(({ one, word }) => ({ word, meaning: word === one.id ? one.name : one.id }));
      if (line.typed === '' || line.typed.endsWith('=')) return byWord;
      // Offer ids only after their first character.
      const byId = words.filter(({ one, word }) => word !== one.id).map(({ one }) => one);
      return [...byWord, ...byId.map(({ id, name }) => ({ word: id, meaning: name }))];
    }
    default:
      return [];
  }
}

async function settingsOf({ options }: Line, context: Context): Promise<RunSettings> {
  const [, profile] = [...options].find(([{ long }]) => long === '--profile') ?? [];
  return await loadRunSettings(profile === undefined ? {} : { profile }, context);
}

async function fieldsAt({ options }: Line, context: Context): Promise<readonly string[]> {
  const [, place] = [...options].find(([{ long }]) => long === '--from') ?? [];
  if (place === undefined) return KNOWN_FIELDS;
  const { storedFields } = await import('../sources/stored-fields.ts');
  return [...new Set([...KNOWN_FIELDS, ...(await storedFields(place, context))])];
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

function explainedBy({ command, operands }: Line): Candidate[] {
  const group = command.parent as Command;
  const named = group.commands.find((one) => one.name() === operands[0]);
  if (operands.length > 0) return named ? commandsOf(named) : [];
  const known = group.parent ? [] : topics.map(({ name, summary }) => ({ word: name, meaning: summary }));
  return [...commandsOf(group), ...known];
}
