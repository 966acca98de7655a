import type { Clock } from '../context.ts';
import type { Secrets } from '../secrets/vault.ts';

/**
 * Milliseconds between attempts to store irreplaceable secrets: a disk or a keychain may fail for a moment.
 */
const PAUSES_MS = [100, 400, 1_000, 2_000, 4_000, 4_000];

/**
 * Stores irreplaceable secrets: tries the store several times over some seconds, then another file. Resolves
 * to that file, or to undefined if the store accepted them. Throws the first error if both failed. Takes no
 * abort signal: an interrupt has to wait.
 */
export async function storeSurely<Content = Secrets>(
  vault: {
    readonly write: (secrets: Content) => Promise<void>;
    readonly rescue: (secrets: Content) => Promise<string>;
  },
  secrets: Content,
  clock: Pick<Clock, 'sleep'>,
): Promise<string | undefined> {
  let first: unknown;
  for (const pause of [0, ...PAUSES_MS]) {
    if (pause > 0) await clock.sleep(pause);
    try {
      await vault.write(secrets);
      return undefined;
    } catch (error) {
      first ??= error;
    }
  }
  try {
    return await vault.rescue(secrets);
  } catch {
    throw first;
  }
}
