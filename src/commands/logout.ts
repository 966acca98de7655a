import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';

interface Flags {
  readonly all?: true;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--all', 'sign out of every profile')
    .addHelpText(
      'after',
      `
Deletes what login stored on this machine: the profile's settings, tokens and
client secret. The service offers no way to revoke tokens: an access token that
was copied elsewhere stays good until it ends.

Examples:
  $ hooktrail logout
  $ hooktrail logout --profile staging
  $ hooktrail logout --all`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { changeConfig, readConfig } = await import('../settings/config-file.ts');
  const { chooseProfile } = await import('../settings/settings.ts');
  const { forgetPending } = await import('../sign-in/pending-sign-in.ts');
  const { signOut } = await import('../sign-in/sign-out.ts');
  const config = await readConfig(context);
  // No other setting matters here, and a bad one must not keep anybody signed in.
  const { profile } = chooseProfile(flags, context.environment, config);
  const saved = Object.keys(config.profiles);
  const ending = flags.all ? saved : saved.filter((name) => name === profile);

  // Secrets first: a profile without secrets can be deleted again, secrets without a profile are hard to find.
  let removed = 0;
  for (const name of flags.all ? saved : [profile]) removed += await signOut(name, context);
  // Those too that belong to no saved profile.
  if (flags.all) removed += await forgetPending(undefined, context);
  if (ending.length > 0) {
    await changeConfig(context, (config) => {
      for (const name of ending) {
        delete config.profiles[name];
        if (config.profile === name) delete config.profile;
      }
    });
  }

  if (removed === 0 && ending.length === 0) {
    reporter.notice(flags.all ? 'nothing was stored' : `nothing was stored for the profile '${profile}'`);
  } else {
    const names = flags.all ? 'every profile' : `the profile '${profile}'`;
    reporter.notice(`signed out of ${names} on this machine; the service shows no way to revoke tokens`);
  }
  if (context.environment['HOOKTRAIL_ACCESS_TOKEN']) {
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is still set, and commands go on using it');
  }
}
