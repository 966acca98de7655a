import type { Argument, Command, Option } from 'commander';
import type { CommandTree, Example } from '../command.ts';
import { type FilterKey, filterKeys } from '../items/filter-keys.ts';
import type { FlagType } from '../settings/flag-values.ts';
import { settingDefaults, settingNames } from '../settings/setting-names.ts';
import { version } from '../version.ts';
import { exitCodes } from './exit-codes.ts';
import { exampleLine, explanationOf, factsOf, flagText, pathOf, wordsOf } from './help-text.ts';

export interface Described {
  readonly command: Command;
  readonly notes: string;
  readonly examples: readonly Example[];
}

export async function describeCommands(tree: CommandTree): Promise<Described[]> {
  const declareAll = async (command: Command): Promise<void> => {
    await tree.declare(command);
    for (const child of command.commands) await declareAll(child);
  };
  await declareAll(tree.root);
  return leavesOf(tree.root).map((command) => ({ command, ...explanationOf(command) }));
}

/** Returns the command tree as data, from the same declarations as help, completion and the manual. */
export async function describeProgram(tree: CommandTree, part = tree.root) {
  const { root } = tree;
  const isPart = (command: Command) => `${pathOf(command)} `.startsWith(`${pathOf(part)} `);
  const commands = (await describeCommands(tree)).filter(({ command }) => isPart(command));
  return {
    name: root.name(),
    version,
    description: root.description(),
    // Includes `--help`, which no command declares.
    globalOptions: root.createHelp().visibleOptions(root).map(describeOption),
    commands: commands.map(({ command, notes, examples }) => ({
      command: pathOf(command),
      description: command.description(),
      usage: `${pathOf(command)} ${command.usage()}`,
      arguments: command.registeredArguments.map((argument) => {
        const kind = kindOfArgument(wordsOf(command), argument);
        return {
          name: argument.name(),
          description: argument.description,
          required: argument.required,
          repeatable: argument.variadic,
          ...allowedValues(kind),
        };
      }),
      options: command.options.map(describeOption),
      notes,
      examples: examples.map(exampleLine),
    })),
    exitCodes,
  };
}

function leavesOf(command: Command): Command[] {
  if (command.commands.length === 0) return [command];
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || command.parent === null)
    .flatMap(leavesOf);
}

function describeOption(option: Option) {
  const { long, short, flags, hidden } = option;
  const facts = factsOf(option);
  const placeholder = /[<[]([^\]>]+)[\]>]/.exec(flags)?.[1];
  const [name, setting] = Object.entries(settingNames).find(([, { flag }]) => flag === long) ?? [];
  const kind = kindOfOption(option);
  const preset = facts.preset ?? (settingDefaults as Readonly<Record<string, string>>)[name ?? ''];
  return {
    flag: long,
    // JSON leaves out undefined members.
    short,
    value: placeholder,
    valueOptional: option.optional || undefined,
    description: flagText(option.description, facts),
    ...typeOf(option),
    repeatable: isRepeatable(option),
    default: preset,
    variable: setting?.variable ?? facts.variables?.[0],
    setting: setting?.key,
    ...allowedValues(kind),
    synonym: hidden || undefined,
  };
}

export function isRepeatable(option: Option): boolean {
  return option.variadic || factsOf(option).isRepeatable === true;
}

function allowedValues(kind: ValueKind): { allowedValues?: readonly string[] } {
  if (kind === 'settings') return { allowedValues: Object.values(settingNames).map(({ key }) => key) };
  return typeof kind === 'object' ? { allowedValues: kind.words } : {};
}

function typeOf({ required, optional, parseArg }: Option): Omit<FlagType, 'type'> & { type: string } {
  if (!required && !optional) return { type: 'boolean' };
  const { takes } = (parseArg ?? {}) as { readonly takes?: FlagType };
  return takes ?? { type: 'string' };
}

/**
 * The kind of a value: one of a few words, a name known only to this machine or the service, a file, or
 * anything.
 */
export type ValueKind =
  | { readonly words: readonly string[] }
  | 'profiles'
  | 'event-types'
  | 'subscriptions'
  | 'settings'
  | 'timezones'
  | 'times'
  | 'fields'
  | 'setting-value'
  | 'commands'
  | 'files'
  | 'directories'
  | 'anything';

function kindOf({ words, completion }: FilterKey): ValueKind {
  return words ? { words } : (completion ?? 'anything');
}

/** By long name, for options whose parser does not list its words: they mean the same in every command. */
export const optionKinds: Readonly<Record<string, ValueKind>> = {
  ...Object.fromEntries(filterKeys.map((key) => [`--${key.flag}`, kindOf(key)])),
  '--store': { words: ['keychain', 'file'] },
  '--profile': 'profiles',
  '--timezone': 'timezones',
  '--since': 'times',
  '--until': 'times',
  '--fields': 'fields',
  '--where': 'fields',
  '--by': 'fields',
  '--latency-field': 'fields',
  '--percentiles': 'fields',
  '--output-file': 'files',
  '--input': 'files',
  '--journal': 'files',
  '--received': 'files',
  '--from': 'files',
  '--state': 'files',
  '--body': 'files',
  '--error-format': { words: ['text', 'json'] },
};

/** By the words of the command and the argument's name. */
export const argumentKinds: Readonly<Record<string, ValueKind>> = {
  'completion shell': { words: ['bash', 'zsh', 'fish', 'powershell'] },
  'help words': 'commands',
  'profiles use name': 'profiles',
  'profiles delete name': 'profiles',
  'config get key': 'settings',
  'config set key': 'settings',
  'config set value': 'setting-value',
  'config unset key': 'settings',
  'events export directory': 'directories',
  'events report file': 'files',
  'events about word': 'subscriptions',
  'subscriptions check word': 'subscriptions',
  ...Object.fromEntries(
    ['get', 'token', 'update', 'enable', 'disable', 'renew'].map((verb) => [
      `subscriptions ${verb} id`,
      'subscriptions' as const,
    ]),
  ),
  'keygen file': 'files',
};

export function kindOfOption({ long, argChoices }: Option): ValueKind {
  return argChoices ? { words: argChoices } : (optionKinds[long ?? ''] ?? 'anything');
}

export function kindOfArgument(path: string, argument: Argument): ValueKind {
  if (argument.argChoices) return { words: argument.argChoices };
  if (path.endsWith(' help')) return 'commands';
  return argumentKinds[`${path} ${argument.name()}`] ?? 'anything';
}
