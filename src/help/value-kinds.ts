import type { Argument, Option } from 'commander';

/** The kind of a value: one of a few words, a name that only this machine or the service knows, a file, or anything. */
export type Kind =
  | { readonly words: readonly string[] }
  | 'profiles'
  | 'event-types'
  | 'settings'
  | 'timezones'
  | 'commands'
  | 'files'
  | 'directories'
  | 'anything';

/** Values of options, by long name: an option means the same in every command. */
export const optionKinds: Readonly<Record<string, Kind>> = {
  '--status': { words: ['SUCCESS', 'FAILED'] },
  '--output': { words: ['table', 'json', 'ndjson', 'csv'] },
  '--store': { words: ['keychain', 'file'] },
  '--profile': 'profiles',
  '--timezone': 'timezones',
  '--type': 'event-types',
  '--method': { words: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] },
  '--output-file': 'files',
  '--input': 'files',
  '--journal': 'files',
  '--from': 'files',
  '--state': 'files',
  '--body': 'files',
  '--error-format': { words: ['text', 'json'] },
};

/** Values of arguments, by the words of the command and the argument's name. */
export const argumentKinds: Readonly<Record<string, Kind>> = {
  'completion shell': { words: ['bash', 'zsh', 'fish', 'powershell'] },
  'help words': 'commands',
  'profiles use name': 'profiles',
  'profiles delete name': 'profiles',
  'config get key': 'settings',
  'config set key': 'settings',
  'config unset key': 'settings',
  'events export directory': 'directories',
  'events report file': 'files',
  'keygen file': 'files',
};

export function kindOfOption({ long, argChoices }: Option): Kind {
  return argChoices ? { words: argChoices } : (optionKinds[long ?? ''] ?? 'anything');
}

export function kindOfArgument(path: string, argument: Argument): Kind {
  if (argument.argChoices) return { words: argument.argChoices };
  return argumentKinds[`${path} ${argument.name()}`] ?? 'anything';
}
