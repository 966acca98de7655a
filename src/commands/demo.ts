import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { ExitCode } from '../errors.ts';

export function declare(command: Command, action: Action): void {
  command
    .addHelpText(
      'after',
      `
Starts a sandbox, signs in to it and searches its FAILED events, with the
commands you would type. Your profiles, secrets and browser are not touched:
everything is in a temporary folder that is removed at the end.

Examples:
  $ hooktrail demo
  $ hooktrail demo --verbose    # with a line for every request`,
    )
    .action(action(run));
}

async function run(call: Call): Promise<ExitCode> {
  const { context, reporter } = call;
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  const { createSandboxUser } = await import('../sandbox-user.ts');
  const redirectUri = 'http://127.0.0.1:0/callback';
  const sandbox = await startSandbox({ autoApprove: true, redirectUri, now: () => context.clock.now() });
  const user = await createSandboxUser(context, sandbox.settings);
  try {
    for (const argv of story) {
      reporter.command(`hooktrail ${argv.join(' ')}`);
      const code = await call.invoke(argv, user.context);
      if (code !== ExitCode.done) return code;
    }
    reporter.notice('\nYour own service: `hooktrail login`. This sandbox to play with: `hooktrail sandbox`.');
    return ExitCode.done;
  } finally {
    await sandbox.close();
    await user.remove();
  }
}

const story: readonly (readonly string[])[] = [
  ['login'],
  ['event-types', '--match', 'document'],
  ['events', 'search', '--failed', '--since', '7d', '--limit', '10'],
  ['logout'],
];
