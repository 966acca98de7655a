import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { addConnectionFlags } from '../config/setting-flags.ts';
import type { SettingFlags } from '../config/settings.ts';
import { ExitCode, NotSignedInError, UnreachableError } from '../errors.ts';

interface Flags extends SettingFlags {
  readonly json?: true;
  readonly check?: true;
}

/** What `--check` found; null where it was not asked for or there was nothing to ask with. */
export type CheckResult = 'accepted' | 'rejected' | 'unreachable' | 'failed' | null;

export function declare(command: Command, action: Action): void {
  command
    .option('--json', 'print one JSON object')
    .option('--check', 'ask the event service whether it takes the token');
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Exits with 4 when nobody is signed in. With --check: 4 when the service rejects
the token, 5 when it cannot be reached, 1 when it answers with another error.

Examples:
  $ hooktrail status
  $ hooktrail status --check --profile staging
  $ hooktrail status --json`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context, reporter } = call;
  const { loadSettings } = await import('../config/settings.ts');
  const { readSignInState } = await import('../oauth/sign-in-state.ts');
  const settings = await loadSettings(flags, context);
  const before = await readSignInState(settings, context);
  const failure = flags.check && before.signedIn ? await check(call) : undefined;
  const result = flags.check && before.signedIn ? resultOf(failure) : null;
  // The question may have renewed the token.
  const state = flags.check ? await readSignInState(settings, context) : before;

  if (flags.json) {
    await context.stdout.write(`${JSON.stringify({ ...state, check: result }, null, 2)}\n`);
  } else {
    const { statusText } = await import('../output/status-text.ts');
    const safe = context.stdout.isTerminal
      ? (await import('../output/terminal-safe.ts')).terminalSafeLine
      : (text: string) => text;
    await context.stdout.write(statusText(state, result, context.clock.now(), safe));
  }
  if (failure) throw failure;
  if (state.signedIn) return ExitCode.done;
  reporter.notice('next: run `hooktrail login`');
  return ExitCode.notSignedIn;
}

/** Asks for the event types, the service's cheapest answer; returns what went wrong. */
async function check(call: Call<Flags>): Promise<Error | undefined> {
  const { withService } = await import('../oauth/connect.ts');
  const { apiUrl } = await import('../http/api-url.ts');
  const { serviceError } = await import('../http/service-error.ts');
  try {
    await withService(call, async (service) => {
      const response = await service.send({ url: apiUrl(service.baseUrl, '/event-types') });
      if (response.status !== 200) throw serviceError(response, 'GET event-types');
    });
    return undefined;
  } catch (error) {
    call.context.signal.throwIfAborted();
    return error as Error;
  }
}

function resultOf(failure: Error | undefined): CheckResult {
  if (failure === undefined) return 'accepted';
  if (failure instanceof NotSignedInError) return 'rejected';
  return failure instanceof UnreachableError ? 'unreachable' : 'failed';
}
