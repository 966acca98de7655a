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
  const { changeConfig, readConfig } = await import('../../settings/config-file.ts');
  const { savedProfileName, unknownProfile } = await import('../../settings/settings.ts');
  const { signOut } = await import('../../sign-in/sign-out.ts');
  const typed = args[0] as string;
  const config = await readConfig(context);
  const name = savedProfileName(typed, config);
  if (name === undefined) throw unknownProfile(typed, config);
  // Secrets first: a profile without secrets can be deleted again, secrets without a profile are hard to find.
  await signOut(name, context, reporter);
  await changeConfig(context, (saved) => {
    delete saved.profiles[name];
    if (saved.profile === name) delete saved.profile;
  });
  reporter.notice(`deleted profile '${name}' and what was stored for it on this machine`);
}
