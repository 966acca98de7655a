import type { Argument, Option } from 'commander';
import { tree } from '../command-tree.ts';
import { shells } from '../commands/completion.ts';
import type { Context } from '../context.ts';
import { topics } from '../help/topics.ts';
import { readConfig } from '../settings/config-file.ts';
import { settingNames } from '../settings/setting-names.ts';
import { type Candidate, FILL } from './completion-line.ts';
import { readEventTypes, writeEventTypes } from './event-type-cache.ts';

/** Starts the program once more, on its own, with these words. */
export type StartAgain = (argv: readonly string[]) => Promise<void>;

/** The values of a kind, as far as they are known without asking anybody. */
export async function valuesOf(
  kind: Kind,
  profile: string | undefined,
  context: Context,
  startAgain: StartAgain,
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
      return await eventTypes(profile, context, startAgain);
    default:
      return [];
  }
}

/** What the cache holds, at once; where it is old, another process asks for the next time. */
async function eventTypes(
  profile: string | undefined,
  context: Context,
  startAgain: StartAgain,
): Promise<Candidate[]> {
  const { names, isStale } = await readEventTypes(profile, context);
  if (isStale) {
    await writeEventTypes(profile, context);
    await startAgain([FILL, ...(profile === undefined ? [] : [profile])]);
  }
  return names.map((word) => ({ word, meaning: '' }));
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
