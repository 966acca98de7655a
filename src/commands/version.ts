import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { version } from '../version.ts';

/** For people who type `hooktrail version`; help shows `--version`. */
export function declare(command: Command, action: Action): void {
  command.action(action(run));
}

async function run({ context }: Call): Promise<void> {
  await context.stdout.write(`${version}\n`);
}
