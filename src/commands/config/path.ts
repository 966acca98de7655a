import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

export function declare(command: Command, action: Action): void {
  command
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail config path
  $ ls -l "$(hooktrail config path)"`,
    )
    .action(action(run));
}

async function run({ context }: Call): Promise<void> {
  const { configPath } = await import('../../settings/config-file.ts');
  await context.stdout.write(`${configPath(context)}\n`);
}
