import { stat } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { fieldsOf } from '../items/near-field.ts';
import { openPlace } from './stored-place.ts';

/** Empty for pipes and standard input, which cannot be read twice, and on errors. */
export async function storedFields(
  place: string,
  context: Pick<Context, 'stdin' | 'clock' | 'signal'>,
): Promise<readonly string[]> {
  const canBeReadAgain = await stat(place).then(
    (found) => found.isFile() || found.isDirectory(),
    () => false,
  );
  if (!canBeReadAgain) return [];
  try {
    const { lists } = await openPlace(place, { context, comparesOutcomes: false });
    for await (const { items } of lists[0] ?? []) if (items.count > 0) return fieldsOf(items);
  } catch {
    // The command itself will report the error.
  }
  return [];
}
