import { type Command, Option } from 'commander';
import type { Action, Call } from '../command.ts';
import type { Environment } from '../context.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { addIdentityFlags, addServiceFlags } from '../settings/setting-flags.ts';
import type { SignInFlags } from '../sign-in/sign-in-setup.ts';

interface Flags extends SignInFlags {
  readonly browser: boolean;
  readonly timeout: number;
  readonly paste?: true;
  readonly device?: true;
  readonly start?: true;
  readonly complete?: string;
}

export function declare(command: Command, action: Action): void {
  addServiceFlags(addIdentityFlags(command))
    .option('--client-secret-stdin', 'read the client secret from the first line of standard input')
    .option('--no-browser', 'only print the URL to sign in at')
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait for the sign-in')
        .default(300)
        .argParser(wholeNumber('--timeout', 1, 86_400)),
    )
    .option('--paste', 'read the redirected URL from standard input instead of waiting for the browser')
    .addOption(
      new Option(
        '--device',
        'sign in by a code in a browser on any device, where the provider offers it',
      ).conflicts(['paste', 'start', 'complete']),
    )
    .option('--replace', 'let the profile, signed in elsewhere, take the new addresses without a question')
    .addOption(
      new Option('--start', 'print the URL to sign in at as JSON and end').conflicts(['paste', 'complete']),
    )
    .addOption(
      new Option(
        '--complete <input>',
        'finish what --start began: - reads the redirected URL from standard input',
      )
        .choices(['-'])
        .conflicts(['paste', 'start', 'clientSecretStdin']),
    )
    .addHelpText('after', notes)
    .action(action(run));
}

const notes = `
The settings and the tokens are saved as the profile. Secrets go to the
operating system's keychain, or with --store file to a file encrypted with a
passphrase, or with a key of \`hooktrail keygen\` [HOOKTRAIL_PASSPHRASE]. The
client secret is never an argument: it is asked for, or read from
HOOKTRAIL_CLIENT_SECRET or with --client-secret-stdin.

On a terminal, the address at which the browser ended up can be pasted while
login waits for the browser: over SSH or from a container the browser may not
reach this machine.

A redirect URI with port 0 takes any free port, where the provider allows it.

Examples:
  $ hooktrail login
  $ hooktrail login --profile staging --store file
  $ hooktrail login --device
  $ hooktrail login --paste --no-browser
  $ hooktrail login --client-secret-stdin < client-secret.txt`;

async function run({ flags, context: real, reporter }: Call<Flags>): Promise<void> {
  // Prompts know only the environment.
  const plain: Environment = { ...real.environment, NO_COLOR: '1', FORCE_COLOR: '' };
  const context = flags.color === false ? { ...real, environment: plain } : real;
  const { isSecretGiven } = await import('../secrets/given-secret.ts');
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment)) {
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is set: commands use it, not what is signed in to here');
  }
  const { signIn, startSignIn, finishSignIn } = await import('../sign-in/sign-in.ts');
  if (flags.start) return await startSignIn(flags, context, reporter);
  const { browser, paste = false, device = false, timeout: timeoutSeconds } = flags;
  if (flags.complete) return await finishSignIn(flags, timeoutSeconds, context, reporter);
  await signIn(flags, { browser, paste, device, timeoutSeconds }, context, reporter);
}
