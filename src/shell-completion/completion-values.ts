import type { Argument, Option } from 'commander';
import { tree } from '../command-tree.ts';
import { shells } from '../commands/completion.ts';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../events/event-type-cache.ts';
import { topics } from '../help/topics.ts';
import { readConfig } from '../settings/config-file.ts';
import { settingNames } from '../settings/setting-names.ts';
import type { Candidate } from './completion-line.ts';

/** The values of a kind, as far as they are known without asking anybody. */
export async function valuesOf(
  kind: Kind,
  profile: string | undefined,
  context: Context,
): Promise<Candidate[]> {
  if (typeof kind === 'object') return kind.words.map((word) => ({ word, meaning: '' }));
  switch (kind) {
    case 'profiles':
      return Object.keys((await readConfig(context)).profiles).map((word) => ({ word, meaning: 'profile' }));
    case 'settings':
      return Object.values(settingNames).map(({ key, meaning }) => ({ word: key, meaning }));
    case 'commands':
      return [
        ...tree.map(({ name, summary }) => ({ word: name, meaning: summary })),
        ...topics.map(({ name, summary }) => ({ word: name, meaning: summary })),
      ];
    case 'event-types':
      return (await keptEventTypes(profile, context)).map((word) => ({ word, meaning: '' }));
    default:
      return [];
  }
}

/** What a value is: one of a few words, a name that only this machine or the service knows, a file, or anything. */
export type Kind =
  | { readonly words: readonly string[] }
  | 'profiles'
  | 'event-types'
  | 'settings'
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
  '--type': 'event-types',
  '--input': 'files',
  '--journal': 'files',
};

/** Values of arguments, by the words of the command and the argument's name. */
export const argumentKinds: Readonly<Record<string, Kind>> = {
  'completion shell': { words: shells },
  'help words': 'commands',
  'profiles use name': 'profiles',
  'profiles delete name': 'profiles',
  'config get key': 'settings',
  'config set key': 'settings',
  'config unset key': 'settings',
  'events export directory': 'directories',
  'events report file': 'files',
};

export function kindOfOption({ long, argChoices }: Option): Kind {
  return argChoices ? { words: argChoices } : (optionKinds[long ?? ''] ?? 'anything');
}

export function kindOfArgument(path: string, argument: Argument): Kind {
  if (argument.argChoices) return { words: argument.argChoices };
  return argumentKinds[`${path} ${argument.name()}`] ?? 'anything';
}
