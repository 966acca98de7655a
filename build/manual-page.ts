import type { Command } from 'commander';
import type { Described } from '../src/cli/command-description.ts';
import { factsOf, flagText, withPrompt } from '../src/cli/help-text.ts';
import type { Program } from '../src/cli/program.ts';
import { topicText } from '../src/cli/topics.ts';
import { versionDate } from '../src/version.ts';

/** The manual page (man(7) macros) of the whole program. */
export function manualPage(
  { root: program }: Program,
  commands: readonly Described[],
  version: string,
): string {
  return [
    `.TH HOOKTRAIL 1 "${versionDate}" "hooktrail ${version}" "User Commands"`,
    // Hyphenated variables and URLs, and justified lines, are hard to copy.
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
    literal(topicText('filters')),
    '.SH TIMES',
    literal(topicText('times')),
    '.SH ENVIRONMENT',
    literal(topicText('environment')),
    '.SH EXIT STATUS',
    literal(topicText('exit-codes')),
    '',
  ].join('\n');
}

function commandText({ command, notes, examples }: Described): string[] {
  const words: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) words.unshift(at.name());
  const usage = command.usage().replace(/^\[options\] ?/, '');
  return [
    `.SS ${escaped(`${words.join(' ')} ${usage}`.trim())}`,
    line(upperFirst(`${command.description()}.`)),
    ...optionsText(command),
    ...(notes === '' ? [] : ['.PP', literal(notes)]),
    ...(examples.length === 0
      ? []
      : ['.PP', literal(examples.map((one) => `  ${withPrompt(one)}`).join('\n'))]),
  ];
}

function optionsText(command: Command): string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => command.parent === null || long !== '--help')
    .flatMap((option) => [
      '.TP',
      `.B ${escaped(option.flags)}`,
      line(flagText(option.description, factsOf(option))),
    ]);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Escapes characters that act on the formatter; see groff_char(7) for the minus, the quotes and the caret.
 */
export function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('…', '...')
    .replaceAll('–', '\\(en');
}

/** Returns a line of running text, in which a dot at the start is not a request. */
export function line(text: string): string {
  return escaped(text).replace(/^\./, '\\&.');
}

/**
 * Returns lines to print unchanged, in a monospaced font and not indented, since they are as long as a
 * terminal is wide.
 */
export function literal(text: string): string {
  const lines = text.trimEnd().split('\n');
  return ['.in 0', '.EX', ...lines.map(line), '.EE', '.in'].join('\n');
}
