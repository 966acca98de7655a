import module from 'node:module';
import path from 'node:path';
import { cacheFolder } from './config/cache-folder.ts';
import type { Context } from './context.ts';

/** `module.enableCompileCache` is there from Node 22.1 on. */
const { enableCompileCache: enable } = module as typeof module & {
  enableCompileCache?: (folder: string) => unknown;
};

/**
 * Has Node keep compiled code in the user's cache folder, which halves what a start spends on reading our modules.
 * A folder that cannot be written is no failure: Node goes on without. `demo` touches nothing of the user's.
 */
export function enableCompileCache(
  argv: readonly string[],
  context: Pick<Context, 'environment' | 'machine'>,
): void {
  if (!enable || context.environment['NODE_COMPILE_CACHE'] || argv.includes('demo')) return;
  enable(path.join(cacheFolder(context), 'compiled'));
}
