import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { ExitCode, NotSignedInError, UnreachableError, UsageError } from '../errors.ts';
import type { CheckResult } from '../output/status-text.ts';
import { addConnectionFlags, addTimezoneFlag } from '../settings/setting-names.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';

interface Flags extends SettingFlags {
  readonly json?: true;
  readonly check?: true;
}

interface Failure {
  readonly result: CheckResult;
  readonly error: unknown;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--json', 'print one JSON object')
    .option('--check', 'ask the event service whether it accepts the token');
  addTimezoneFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Exits with 4 if nobody is signed in. With --check: 4 if the service rejects the
token or the identity provider refuses to renew it, 5 if either cannot be
reached, 1 for any other error.

Examples:
  $ hooktrail status
  $ hooktrail status --check --profile staging
  $ hooktrail status --json`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context, reporter } = call;
  const { loadSettings } = await import('../settings/settings.ts');
  const { readSignInState } = await import('../sign-in/session.ts');
  const settings = await loadSettings(flags, context);
  const before = await readSignInState(settings, context);
  const failure = flags.check && before.signedIn ? await check(call) : undefined;
  const result = flags.check && before.signedIn ? (failure?.result ?? 'accepted') : null;
  // The question may have renewed the token.
  const state = flags.check ? await readSignInState(settings, context) : before;

  if (flags.json) {
    const { printJson } = await import('../output/formats.ts');
    const value = { ...state, check: result };
    await printJson(value, undefined, context, reporter, JSON.stringify(value, null, 2));
  } else {
    const { zoneOf } = await import('../time/time-zone.ts');
    const { statusText } = await import('../output/status-text.ts');
    await context.stdout.write(
      statusText(state, result, context.clock.now(), zoneOf(settings.timezone, context)),
    );
  }
  if (flags.profile !== undefined) await tellOverrides(settings, call);
  if (failure) throw failure.error;
  if (state.signedIn) return ExitCode.done;
  reporter.notice('next: run `hooktrail login`');
  return ExitCode.notSignedIn;
}

/** Says that there is no such profile, or names the variables that override it: one that was exported earlier is easily forgotten. */
async function tellOverrides({ profile, given }: Settings, { context, reporter }: Call): Promise<void> {
  const { readConfig } = await import('../settings/config-file.ts');
  const { settingNames } = await import('../settings/setting-names.ts');
  const saved = (await readConfig(context)).profiles[profile];
  if (!saved) return reporter.warning(`there is no profile '${profile}'`);
  const variables = Object.entries(settingNames).flatMap(([name, { key, variable }]) => {
    const { source, text } = given[name as keyof typeof given] ?? {};
    return source === variable && saved[key] !== undefined && saved[key] !== text ? [variable] : [];
  });
  if (variables.length === 0) return;
  const [verb, list] = [variables.length === 1 ? 'overrides' : 'override', variables.join(', ')];
  reporter.warning(`${list} ${verb} what the profile '${profile}' saves`);
}

/** Requests the event types, the service's cheapest answer, with a valid token. Returns the kind of failure, if any. */
async function check(call: Call<Flags>): Promise<Failure | undefined> {
  const { openSession, withService } = await import('../sign-in/session.ts');
  const { apiUrl } = await import('../http/service.ts');
  const { serviceError } = await import('../http/service.ts');
  const { flags, context, reporter } = call;
  let hasToken = false;
  try {
    const { tokens } = await openSession(flags, context, reporter);
    await tokens.accessToken();
    hasToken = true;
    await withService(call, async (service) => {
      const response = await service.send({ url: apiUrl(service.baseUrl, '/event-types') });
      if (response.status !== 200) throw serviceError(response, 'GET event-types');
    });
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    // Nobody was asked.
    if (error instanceof UsageError) throw error;
    return { result: hasToken ? serviceResult(error) : providerResult(error), error };
  }
}

function serviceResult(error: unknown): CheckResult {
  if (error instanceof NotSignedInError) return 'rejected';
  return error instanceof UnreachableError ? 'unreachable' : 'failed';
}

function providerResult(error: unknown): CheckResult {
  return error instanceof NotSignedInError ? 'refused' : 'not-renewed';
}
