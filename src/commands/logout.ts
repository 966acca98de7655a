import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { SignOut } from '../sign-in/sign-out.ts';
import type { Reporter } from '../terminal/reporter.ts';

interface Flags {
  readonly all?: true;
  readonly yes?: true;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--all', 'sign out of every profile')
    .option('--yes', 'do not ask before --all')
    .addHelpText(
      'after',
      `
Deletes the tokens and the client secret that login stored on this machine, and
revokes the tokens if the identity provider offers that; otherwise a copied
access token stays valid until it expires. Addresses and client id are kept for
the next login; \`hooktrail profiles delete NAME\` deletes them too.

Examples:
  $ hooktrail logout
  $ hooktrail logout --profile staging
  $ hooktrail logout --all --yes`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { readConfig } = await import('../settings/config-file.ts');
  const { chooseProfile } = await import('../settings/settings.ts');
  const { forgetEverything } = await import('../secrets/stored-sign-ins.ts');
  const { signOut } = await import('../sign-in/sign-out.ts');
  const { isSecretGiven } = await import('../secrets/given-secret.ts');
  const { canPrompt, promptText } = await import('../terminal/prompt.ts');
  const config = await readConfig(context);
  // No other setting matters here, and an invalid one must not prevent signing out.
  const { profile } = chooseProfile(flags, context.environment, config);
  const saved = Object.keys(config.profiles);
  if (flags.all && !flags.yes && saved.length > 0 && canPrompt(context)) {
    const question = `Sign out of every profile (${saved.join(', ')})? (yes or no)`;
    const check = (text: string) => (/^(y|yes|n|no)$/i.test(text) ? undefined : 'answer yes or no');
    if (!/^y/i.test(await promptText(question, context, check)))
      throw new UsageError('nothing was changed', { next: 'sign out of one profile with --profile NAME' });
  }

  let removed = 0;
  for (const name of flags.all ? saved : [profile]) {
    const ended = await signOut(name, context, reporter);
    removed += ended.removed;
    if (ended.removed > 0) tell(name, ended, reporter);
  }
  // Includes secrets that belong to no saved profile.
  if (flags.all) removed += await forgetEverything(context);
  if (removed === 0)
    reporter.notice(flags.all ? 'nothing was stored' : `nothing was stored for the profile '${profile}'`);
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment)) {
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is still set, and commands still use it');
  }
}

function tell(profile: string, { revocation }: SignOut, reporter: Reporter): void {
  const out = `signed out of the profile '${profile}' on this machine`;
  if (revocation === 'done') reporter.notice(`${out}; its tokens are revoked`);
  else if (revocation === 'refresh token only') reporter.notice(`${out}; its refresh token is revoked`);
  else if (revocation === 'not offered')
    reporter.notice(`${out}; the identity provider offers no way to revoke tokens`);
  else reporter.notice(out);
  if (typeof revocation === 'object')
    reporter.warning(`the tokens of '${profile}' could not be revoked: ${revocation.failure}`);
}
