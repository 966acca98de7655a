import type { Context } from '../context.ts';
import { buildProgram } from '../program.ts';
import { type Candidate, expectedAt } from './completion-line.ts';
import { valuesOf } from './completion-values.ts';

/**
 * Answers a completion script: on the first line `files`, `directories` or `words`, then one word per line, a tab and what
 * it means. `argv` are the words of the line up to the cursor. Never fails: a shell has nowhere to show an error.
 */
export async function answer([, ...words]: readonly string[], context: Context): Promise<void> {
  try {
    await context.stdout.write(await candidatesFor(words, context));
  } catch {
    // The command tells when it is run.
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
