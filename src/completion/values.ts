import { readConfig } from '../config/file.ts';
import { settingNames } from '../config/names.ts';
import type { Context } from '../context.ts';
import { topics } from '../help/topics.ts';
import { tree } from '../tree.ts';
import type { Candidate } from './candidates.ts';
import { readEventTypes, writeEventTypes } from './event-type-cache.ts';
import type { Kind } from './value-kinds.ts';
import { FILL } from './words.ts';

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
