import { tree } from '../command-tree.ts';
import type { Context } from '../context.ts';
import { keptEventTypes } from '../events/event-types.ts';
import { optionKinds, type ValueKind } from '../help/command-description.ts';
import { topics } from '../help/topics.ts';
import { buildProgram } from '../program.ts';
import { readConfig } from '../settings/config-file.ts';
import { settingNames } from '../settings/setting-names.ts';
import { zoneNames } from '../time/zone-names.ts';
import { type Candidate, expectedAt, type Line } from './completion-line.ts';

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
  const program = buildProgram(context, async () => 0);
  const expected = await expectedAt(program, words);
  if ('words' in expected) {
    const { typed } = expected;
    const found = expected.words.filter(({ word }) => begins(word, typed));
    // A command that is typed without its group, as in `hooktrail sea`.
    return lines(found.length > 0 || words.length > 1 ? found : groupsWith(typed));
  }
  const { prefix, line } = expected;
  const kind = expected.kind === 'setting-value' ? kindOfSetting(line.operands[0]) : expected.kind;
  if (kind === 'files' || kind === 'directories') return `${kind}\n`;
  const values = await valuesOf(kind, line, context);
  // A list goes on after its last comma.
  const head = isList(kind) ? line.typed.slice(0, line.typed.lastIndexOf(',') + 1) || prefix : prefix;
  const given = head.slice(prefix.length).split(',');
  return lines(
    values
      .filter(({ word }) => !given.includes(word))
      .map(({ word, meaning }) => ({ word: head + word, meaning }))
      .filter(({ word }) => begins(word, line.typed)),
  );
}

/** In any case of letters. */
function begins(word: string, typed: string): boolean {
  return word.toLowerCase().startsWith(typed.toLowerCase());
}

function lines(candidates: readonly Candidate[]): string {
  const texts = candidates.map(({ word, meaning }) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}`);
  return ['words', ...texts].map((line) => `${line}\n`).join('');
}

/** The groups with a command that begins so, or that people call so. */
function groupsWith(typed: string): Candidate[] {
  return tree.flatMap((group) => {
    const children = 'children' in group ? group.children : [];
    const meant = children.find(({ name, alsoCalled = [] }) =>
      [name, ...alsoCalled].some((word) => typed !== '' && begins(word, typed)),
    );
    return meant ? [{ word: group.name, meaning: `${meant.name}: ${meant.summary}` }] : [];
  });
}

function isList(kind: ValueKind): boolean {
  return kind === 'fields' || kind === 'event-types' || typeof kind === 'object';
}

/** The values of a kind that are known without a request. */
async function valuesOf(kind: ValueKind, line: Line, context: Context): Promise<readonly Candidate[]> {
  if (typeof kind === 'object') return plainWords(kind.words);
  switch (kind) {
    case 'profiles':
      return Object.keys((await readConfig(context)).profiles).map((word) => ({ word, meaning: 'profile' }));
    case 'settings':
      return Object.values(settingNames).map(({ key, meaning }) => ({ word: key, meaning }));
    case 'timezones':
      return plainWords(zoneNames());
    case 'times':
      return TIMES;
    case 'fields':
      return plainWords(FIELDS);
    case 'commands':
      return commandsBelow([...line.path.split(' ').slice(0, -1), ...line.operands]);
    case 'event-types':
      return plainWords(await keptEventTypes(line.profile, context));
    default:
      return [];
  }
}

function plainWords(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, meaning: '' }));
}

const TIMES: readonly Candidate[] = [
  { word: '15m', meaning: 'the last 15 minutes' },
  { word: '1h', meaning: 'the last hour' },
  { word: '24h', meaning: 'the last day' },
  { word: '7d', meaning: 'the last week' },
  { word: 'today', meaning: 'since midnight' },
  { word: 'yesterday', meaning: 'since midnight before' },
];

/** The fields that searches filter by: others are not known before an event is read. */
const FIELDS = ['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'];

function kindOfSetting(key: string | undefined): ValueKind {
  const setting = Object.values(settingNames).find((one) => one.key === key);
  return optionKinds[setting?.flag ?? ''] ?? 'anything';
}

/** The commands of a group; of the program itself also the topics. */
function commandsBelow([group]: readonly string[]): Candidate[] {
  const found = tree.find(({ name }) => name === group);
  const nodes =
    group === undefined ? [...tree, ...topics] : found && 'children' in found ? found.children : [];
  return nodes.map(({ name, summary }) => ({ word: name, meaning: summary }));
}
