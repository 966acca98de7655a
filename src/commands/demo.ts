import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode } from '../errors.ts';
import type { SandboxSettings } from '../sandbox/sandbox.ts';
import type { Reporter } from '../terminal/reporter.ts';

export function declare(command: Command, action: Action): void {
  command
    .addHelpText(
      'after',
      `
Starts a sandbox, signs in to it and searches its FAILED events, with the
commands you would type. Your profiles, secrets and browser are left alone: all
of it lives in a temporary folder that is removed at the end.

Examples:
  $ npx hooktrail demo
  $ hooktrail demo --verbose    # with a line for every request`,
    )
    .action(action(run));
}

async function run(call: Call): Promise<ExitCode> {
  const { context, reporter } = call;
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  const { temporaryFolder } = await import('../files/folders.ts');
  const folder = await temporaryFolder('hooktrail-demo-');
  const sandbox = await startSandbox({ autoApprove: true, redirectUri: 'http://127.0.0.1:0/callback' });
  try {
    const own = await demoContext(context, sandbox.settings, folder.path, reporter);
    for (const argv of story) {
      reporter.command(`hooktrail ${argv.join(' ')}`);
      const code = await call.invoke(argv, own);
      if (code !== ExitCode.done) return code;
    }
    reporter.notice('\nYour own service: `hooktrail login`. This sandbox to play with: `hooktrail sandbox`.');
    return ExitCode.done;
  } finally {
    await sandbox.close();
    await folder.remove();
  }
}

const story: readonly (readonly string[])[] = [
  ['login'],
  ['event-types', '--match', 'document'],
  ['events', 'search', '--failed', '--since', '7d', '--limit', '10'],
  ['logout'],
];

/** The same streams and clock around a home, a store and a browser of the demo's own. */
async function demoContext(
  context: Context,
  settings: SandboxSettings,
  folder: string,
  reporter: Reporter,
): Promise<Context> {
  const { randomBytes } = await import('node:crypto');
  const { environmentOf } = await import('../settings/sandbox-environment.ts');
  const { visit } = await import('../http/visit.ts');
  const { environment } = context;
  // What the user set for the real thing must not reach the sandbox; how the terminal looks must.
  const kept = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'PATH'].map((name) => [
    name,
    environment[name],
  ]);
  return {
    ...context,
    environment: {
      ...Object.fromEntries(kept),
      ...environmentOf(settings),
      HOOKTRAIL_CONFIG_DIR: folder,
      HOOKTRAIL_STORE: 'file',
      HOOKTRAIL_PASSPHRASE: randomBytes(16).toString('hex'),
    },
    machine: { ...context.machine, userHome: folder },
    browser: {
      // Opened, not waited for, as any browser: its last page comes when the sign-in is over.
      open: async (url) => {
        visit(url, context.signal).catch((error: Error) =>
          reporter.warning(`the demo's browser failed: ${error.message}`),
        );
      },
    },
  };
}
