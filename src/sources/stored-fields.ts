import { stat } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { fieldsOf } from '../items/near-field.ts';
import { openPlace } from './stored-place.ts';

/**
 * The paths of the fields of the first events of a file or an export; none if it cannot be read, and none of
 * standard input or a pipe, since what is read there is gone.
 */
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
    // The command that is typed reports what is wrong with the place.
  }
  return [];
}
