import type { Command, Option } from 'commander';
import { ExitCode } from '../errors.ts';
import type { FlagType } from '../settings/flag-values.ts';
import { settingNames } from '../settings/setting-names.ts';
import { version } from '../version.ts';
import { explanationOf } from './help-text.ts';
import { exitCodeMeanings } from './topic-texts.ts';
import { kindOfArgument, kindOfOption } from './value-kinds.ts';

/** The command tree as data, from the declarations that help, completion and the manual come from. */
export function describeProgram(root: Command) {
  const codes = Object.entries(ExitCode) as [keyof typeof ExitCode, number][];
  return {
    name: root.name(),
    version,
    description: root.description(),
    // With `--help`, which no command declares.
    globalOptions: root.createHelp().visibleOptions(root).map(described),
    commands: leavesOf(root).map((command) => ({
      command: pathOf(command),
      description: command.description(),
      usage: `${pathOf(command)} ${command.usage()}`,
      arguments: command.registeredArguments.map((argument) => {
        const kind = kindOfArgument(pathOf(command).replace(/^\S+ /, ''), argument);
        return {
          name: argument.name(),
          description: argument.description,
          required: argument.required,
          repeatable: argument.variadic,
          ...(typeof kind === 'object' ? { allowedValues: kind.words } : {}),
        };
      }),
      options: command.options.map(described),
      ...explainedIn(command),
    })),
    exitCodes: codes.map(([name, code]) => ({ code, meaning: exitCodeMeanings[name] })),
  };
}

/** Every command that can be run, without the help of each group. */
export function leavesOf(command: Command): Command[] {
  if (command.commands.length === 0) return [command];
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || command.parent === null)
    .flatMap(leavesOf);
}

function explainedIn(command: Command) {
  const { notes, examples } = explanationOf(command);
  const shown = examples.map((example) => example.replace(/^(\$|PS>) /, '').replaceAll(/ \\\n\s*/g, ' '));
  return { notes, examples: shown };
}

function described(option: Option) {
  const { long, short, flags, description, hidden } = option;
  const placeholder = /[<[]([^\]>]+)[\]>]/.exec(flags)?.[1];
  const setting = Object.values(settingNames).find(({ flag }) => flag === long);
  const variable = setting?.variable ?? /\[(\w+)(?:, \w+)*\]$/.exec(description)?.[1];
  const kind = kindOfOption(option);
  const preset = defaultOf(option);
  return {
    flag: long,
    ...(short ? { short } : {}),
    ...(placeholder ? { value: placeholder } : {}),
    ...(option.optional ? { valueOptional: true } : {}),
    description,
    ...typeOf(option),
    repeatable: option.variadic || /repeatable/.test(description),
    ...(preset === undefined ? {} : { default: preset }),
    ...(variable ? { variable } : {}),
    ...(setting ? { setting: setting.key } : {}),
    ...(typeof kind === 'object' ? { allowedValues: kind.words } : {}),
    ...(hidden ? { synonym: true } : {}),
  };
}

function typeOf({ required, optional, parseArg }: Option): Omit<FlagType, 'type'> & { type: string } {
  if (!required && !optional) return { type: 'boolean' };
  const { takes } = (parseArg ?? {}) as { readonly takes?: FlagType };
  return takes ?? { type: 'string' };
}

/** The default as declared. Many defaults depend on more than the flag; its description gives those. */
function defaultOf({ defaultValue, description }: Option): unknown {
  if (defaultValue !== undefined) return defaultValue;
  const told = /\(default: ([^)]+)\)/.exec(description) ?? /(\S+) \(the default\)/.exec(description);
  return /^\d+$/.test(told?.[1] ?? '') ? Number(told?.[1]) : told?.[1];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
