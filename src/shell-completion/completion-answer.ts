import { tree } from '../command-tree.ts';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../events/event-types.ts';
import type { Kind } from '../help/command-description.ts';
import { topics } from '../help/topics.ts';
import { buildProgram } from '../program.ts';
import { readConfig } from '../settings/config-file.ts';
import { settingNames } from '../settings/setting-names.ts';
import { zoneNames } from '../time/zone-names.ts';
import { type Candidate, expectedAt } from './completion-line.ts';

/**
 * Answers a completion script: on the first line `files`, `directories` or `words`, then one word per line, a tab and what
 * it means. `argv` are the words of the line up to the cursor. Never fails: a shell has nowhere to show an error.
 */
export async function answer([, ...words]: readonly string[], context: Context): Promise<void> {
  try {
    await context.stdout.write(await candidatesFor(words, context));
  } catch {
    // The command reports the error when it is run.
  }
}

async function candidatesFor(words: readonly string[], context: Context): Promise<string> {
  const expected = await expectedAt(
    buildProgram(context, async () => 0),
    words,
  );
  if ('words' in expected) return lines(expected.words, expected.typed);
  const { kind, prefix, line } = expected;
  if (kind === 'files' || kind === 'directories') return `${kind}\n`;
  const values = await valuesOf(kind, line.profile, context);
  return lines(
    values.map(({ word, meaning }) => ({ word: prefix + word, meaning })),
    line.typed,
  );
}

/** Those that begin with what is typed, in any case of letters. */
function lines(candidates: readonly Candidate[], typed: string): string {
  const begins = ({ word }: Candidate) => word.toLowerCase().startsWith(typed.toLowerCase());
  const texts = candidates
    .filter(begins)
    .map(({ word, meaning }) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}`);
  return ['words', ...texts].map((line) => `${line}\n`).join('');
}

/** The values of a kind that are known without a request. */
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
