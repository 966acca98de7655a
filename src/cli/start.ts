import { Module } from 'node:module';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { ExitCode } from '../errors.ts';
import { cacheFolder, isForCode } from '../files/folders.ts';
import { createSystem } from '../system.ts';
import { isForCompletion, isForVersion, main } from './main.ts';

/** The entry point called by `bin/`: the real program on the real machine. */
export async function start(): Promise<void> {
  const system = createSystem();
  if (!isForVersion(system.argv)) enableCompileCache(system.argv, system.context);
  if (isForCompletion(system.argv)) {
    const { answer } = await import('./completion-answer.ts');
    await answer(system.argv, system.context);
    system.exitWith(ExitCode.done);
    return;
  }
  system.exitWith(await main(system.argv, system.context));
}

/** `module.enableCompileCache` exists from Node 22.1 on. */
const { enableCompileCache: enable } = Module as typeof Module & {
  enableCompileCache?: (folder: string) => unknown;
};

/**
 * Makes Node keep compiled code in the user's cache folder, which halves the time to load our modules.
 * Skipped if the folder is unsafe or not writable, and for `demo`, which leaves the user's files alone.
 */
function enableCompileCache(
  argv: readonly string[],
  { environment, machine }: Pick<Context, 'environment' | 'machine'>,
): void {
  if (!enable || environment['NODE_COMPILE_CACHE'] || environment['NODE_DISABLE_COMPILE_CACHE']) return;
  if (argv.includes('demo')) return;
  const folder = join(cacheFolder({ environment, machine }), 'compiled');
  if (isForCode(folder, machine)) enable(folder);
}
