import type { Command } from 'commander';
import { advise } from '../advice.ts';
import type { Call } from '../command.ts';
import { ExitCode } from '../errors.ts';
import { addConnectionFlags, addTimezoneFlag } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { zoneOf } from '../time/time-zone.ts';

interface Flags extends SettingFlags {
  readonly json?: true;
  readonly check?: true;
}

export const help = `
Exits with 4 if nobody is signed in. With --check: 4 if the service rejects the
token or the identity provider refuses to renew it, 5 if either cannot be
reached, 1 for any other error.`;

export const examples = [
  'hooktrail status',
  'hooktrail status --check --profile staging',
  'hooktrail status --json',
];

export function declare(command: Command): void {
  command
    .option('--json', 'print one JSON object')
    .option('--check', 'ask the event service whether it accepts the token');
  addTimezoneFlag(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context, reporter } = call;
  const { checkSignIn, readSignInState, warnOfOverrides } = await import('./sign-in-state.ts');
  const { notSignedIn } = await import('./session.ts');
  const settings = call.settings.checked();
  const before = await readSignInState(settings, context);
  const isChecked = flags.check === true && before.signedIn;
  const failure = isChecked ? await checkSignIn(call) : undefined;
  const result = isChecked ? (failure?.result ?? 'accepted') : null;
  // The check may have renewed the token, or met a refusal.
  const state = isChecked ? await readSignInState(settings, context) : before;
  if (flags.json) {
    const { printJson } = await import('../formats/item-writer.ts');
    const value = { ...state, check: result };
    await printJson(value, undefined, context, reporter, JSON.stringify(value, null, 2));
  } else {
    const { statusText } = await import('./status-text.ts');
    const zone = zoneOf(settings.timezone, context);
    await context.stdout.write(statusText(state, result, context.clock.now(), zone));
  }
  if (flags.profile !== undefined) await warnOfOverrides(settings, call);
  if (failure) throw failure.error;
  if (state.signedIn) return ExitCode.done;
  const reason = await notSignedIn(settings, context);
  if (reason.details.length > 0) throw reason;
  const { STORED } = await import('./provider-failure.ts');
  const { STORED_CLIENT } = await import('./client-credentials.ts');
  const advice = state.grant === 'client_credentials' ? STORED_CLIENT : STORED;
  const { refusedStep } = await import('./client-authentication.ts');
  const refused = refusedStep(state.clientAuthentication ?? 'secret', advice.refused);
  const next = state.refused === 'client' ? refused : reason.next;
  reporter.notice(advise`next: ${next ?? ''}`);
  return ExitCode.notSignedIn;
}
