import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('<name>', 'the profile to delete, with everything stored for it')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail profiles delete staging
  $ hooktrail profiles delete sandbox --quiet`,
    )
    .action(action(run));
}

async function run({ args, context, reporter }: Call): Promise<void> {
  const { deleteProfile } = await import('../../sign-in/sign-out.ts');
  await deleteProfile(args[0] as string, context, reporter);
}
