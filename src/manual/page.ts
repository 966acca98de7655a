import type { Command } from 'commander';
import { environmentText } from '../help/environment.ts';
import { exitCodesText } from '../help/exit-codes.ts';
import { filtersText } from '../help/filters.ts';
import { escaped, line, literal } from './roff.ts';

/** A command of the tree with what only its help holds. */
export interface Described {
  readonly command: Command;
  /** What `--help` prints after the options: explanations and examples. */
  readonly notes: string;
}

/** The manual page (man(7) macros) of the whole program, without a date: the same tree gives the same page. */
export function manualPage(program: Command, commands: readonly Described[], version: string): string {
  return [
    `.TH HOOKTRAIL 1 "" "hooktrail ${version}" "User Commands"`,
    // A variable or a URL that is hyphenated, or a line that is stretched, is hard to copy.
    '.nh',
    '.ad l',
    '.SH NAME',
    `hooktrail \\- ${escaped(lowerFirst(program.description()).replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B hooktrail',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    line(program.description()),
    'Every command explains itself with',
    '.BR \\-\\-help .',
    '.SH GLOBAL OPTIONS',
    ...optionsText(program),
    '.SH COMMANDS',
    ...commands.flatMap(commandText),
    '.SH FILTERS',
    literal(filtersText()),
    '.SH ENVIRONMENT',
    literal(environmentText()),
    '.SH EXIT STATUS',
    literal(exitCodesText()),
    '',
  ].join('\n');
}

function commandText({ command, notes }: Described): string[] {
  const words: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) words.unshift(at.name());
  const usage = command.usage().replace(/^\[options\] ?/, '');
  return [
    `.SS ${escaped(`${words.join(' ')} ${usage}`.trim())}`,
    line(upperFirst(`${command.description()}.`)),
    ...optionsText(command),
    ...(notes.trim() === '' ? [] : ['.PP', literal(notes.replace(/^\n+/, ''))]),
  ];
}

function optionsText(command: Command): string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => command.parent === null || long !== '--help')
    .flatMap((option) => ['.TP', `.B ${escaped(option.flags)}`, line(option.description)]);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
