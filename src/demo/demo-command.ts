import path from 'node:path';
import type { Call } from '../command.ts';
import { ExitCode } from '../errors.ts';

export const help = `
Starts a sandbox, signs in to it and searches its FAILED events, with the
commands you would type. Your profiles, secrets and browser are not touched:
everything is in a temporary folder that is removed at the end.`;

export const examples = ['hooktrail demo', 'hooktrail demo --verbose    # with a line for every request'];

export async function run(call: Call): Promise<ExitCode> {
  const { context, reporter } = call;
  const [{ startSandbox }, { createSandboxUser }] = await Promise.all([
    import('../sandbox/sandbox.ts'),
    import('./sandbox-user.ts'),
  ]);
  const redirectUri = 'http://127.0.0.1:0/callback';
  const sandbox = await startSandbox({ autoApprove: true, redirectUri, now: () => context.clock.now() });
  const user = await createSandboxUser(context, sandbox);
  try {
    for (const argv of story) {
      reporter.command(`hooktrail ${argv.join(' ')}`);
      // Its own next steps lead into a sandbox that ends with the demo.
      const quiet = argv[0] === 'events' ? ['--quiet'] : [];
      const code = await call.invoke([...argv, ...quiet], user.context);
      if (code !== ExitCode.done) return code;
    }
    const { environment, machine } = context;
    // `npm run demo` in a checkout, where the program may not be installed.
    const program = environment['npm_lifecycle_event'] === 'demo' ? 'npx .' : 'hooktrail';
    const shell = machine.platform === 'win32' ? 'powershell' : path.basename(environment['SHELL'] || 'sh');
    reporter.notice(`\nA shell for the commands above:\n  ${program} sandbox --auto-approve -- ${shell}`);
    reporter.notice(`Your own service:\n  ${program} login`);
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
  ['events', 'explain'],
  ['logout'],
];
