import type { Context } from '../context.ts';
import { buildProgram } from '../program.ts';
import { expectedAt, FILL } from './completion-line.ts';
import { type StartAgain, valuesOf } from './completion-values.ts';

/**
 * Answers a completion script: on the first line `files`, `directories` or `words`, then a word a line, a tab and what
 * it means. `argv` are the words of the line up to the cursor. Never fails: a shell has nowhere to show an error.
 */
export async function answer(
  argv: readonly string[],
  context: Context,
  startAgain: StartAgain,
): Promise<void> {
  const [task, ...words] = argv;
  try {
    if (task === FILL) {
      const { fillEventTypes } = await import('./event-type-cache.ts');
      await fillEventTypes(words[0], context);
    } else {
      await context.stdout.write(await candidatesFor(words, context, startAgain));
    }
  } catch {
    // What the user types next will tell.
  }
}

async function candidatesFor(
  words: readonly string[],
  context: Context,
  startAgain: StartAgain,
): Promise<string> {
  const { program } = await buildProgram(words.slice(0, -1), context, async () => 0);
  const expected = expectedAt(program, words);
  if ('words' in expected) return lines('words', expected.words);
  const { kind, prefix, line } = expected;
  if (kind === 'files' || kind === 'directories') return `${kind}\n`;
  const values = await valuesOf(kind, line.profile, context, startAgain);
  return lines(
    'words',
    values.map(({ word, meaning }) => ({ word: prefix + word, meaning })),
  );
}

function lines(directive: string, candidates: readonly { word: string; meaning: string }[]): string {
  return [directive, ...candidates.map(({ word, meaning }) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}`)]
    .map((line) => `${line}\n`)
    .join('');
}
