import { enableCompileCache } from './compile-cache.ts';
import { isForCompletion } from './completion/words.ts';
import { main } from './main.ts';
import { createSystem } from './system.ts';

/** What `bin/` calls: the real program with the real machine around it. */
export async function start(): Promise<void> {
  const system = createSystem();
  enableCompileCache(system.argv, system.context);
  if (isForCompletion(system.argv)) {
    const { answer } = await import('./completion/answer.ts');
    await answer(system.argv, system.context, system.startAgain);
    return;
  }
  system.exitWith(await main(system.argv, system.context));
}
