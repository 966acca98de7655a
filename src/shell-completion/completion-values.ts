import { tree } from '../command-tree.ts';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../events/event-type-cache.ts';
import { topics } from '../help/topics.ts';
import type { Kind } from '../help/value-kinds.ts';
import { readConfig } from '../settings/config-file.ts';
import { settingNames } from '../settings/setting-names.ts';
import { zoneNames } from '../settings/zone-names.ts';
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
    case 'timezones':
      return zoneNames().map((word) => ({ word, meaning: '' }));
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
