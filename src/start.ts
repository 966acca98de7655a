import { main } from './main.ts';
import { createSystem } from './system.ts';

/** What `bin/` calls: the real program with the real machine around it. */
export async function start(): Promise<void> {
  const system = createSystem();
  system.exitWith(await main(system.argv, system.context));
}
