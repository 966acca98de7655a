import { enableCompileCache } from './compile-cache.ts';
import { createSystem } from './system.ts';

/** What `bin/` calls: the real program with the real machine around it. */
export async function start(): Promise<void> {
  const system = createSystem();
  enableCompileCache(system.argv, system.context);
  const { main } = await import('./main.ts');
  system.exitWith(await main(system.argv, system.context));
}
