import module from 'node:module';
import path from 'node:path';
import { keepCompiledCode } from './code-cache.ts';
import { cacheFolder } from './config/cache-folder.ts';
import type { Context } from './context.ts';

/** `module.enableCompileCache` is there from Node 22.1 on. */
const { enableCompileCache: enable } = module as typeof module & {
  enableCompileCache?: (folder: string) => unknown;
};

/**
 * Keeps compiled code in the user's cache folder, which halves what a start spends on reading our modules: by Node
 * where it can, else by ourselves. A folder that cannot be written is no failure. `demo` touches nothing of the user's.
 */
export function enableCompileCache(
  argv: readonly string[],
  context: Pick<Context, 'environment' | 'machine' | 'atExit'>,
): void {
  const { environment, machine, atExit } = context;
  if (environment['NODE_COMPILE_CACHE'] || environment['NODE_DISABLE_COMPILE_CACHE']) return;
  if (argv.includes('demo')) return;
  const folder = path.join(cacheFolder(context), 'compiled');
  if (enable) enable(folder);
  // V8 takes code of its own version alone; two of them must not replace each other's.
  else keepCompiledCode(path.join(folder, machine.runtime), atExit);
}
