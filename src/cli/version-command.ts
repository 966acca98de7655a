import type { Call } from '../command.ts';
import { fullVersion } from '../version.ts';

/** For people who type `hooktrail version`; help shows `--version`. */
export async function run({ context }: Call): Promise<void> {
  await context.stdout.write(`${fullVersion}\n`);
}
