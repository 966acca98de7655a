import { type Command, Option } from 'commander';
import type { Call } from '../../command.ts';
import { duration } from '../../settings/flag-values.ts';
import { Flag } from '../../settings/flags.ts';
import { addSignInFlags } from '../../settings/setting-names.ts';
import type { SignInFlags } from './login-attempt.ts';

export const commonFlags =
  '--auth-url --base-url --client-id --vendor --store --no-browser --paste --device --client-secret-stdin --timeout';

export function declare(command: Command): void {
  addSignInFlags(command)
    .option('--client-secret-stdin', 'read the client secret from standard input, first line')
    .addOption(
      new Option('--public-client', 'the client has no secret (PKCE protects the sign-in)').conflicts([
        'clientSecretStdin',
        'clientCredentials',
      ]),
    )
    .option('--no-browser', 'only print the URL to sign in at')
    .addOption(
      new Flag(
        '--timeout <span>',
        'how long to wait for the sign-in: 10m, or seconds',
        { preset: '5m' },
        duration('--timeout', 1000, 86_400_000, 's'),
      ),
    )
    .option('--paste', 'read the redirected URL from standard input, instead of waiting for the browser')
    .addOption(
      new Option(
        '--device',
        'sign in with a code in a browser on any device, if the provider offers it',
      ).conflicts(['paste']),
    )
    .addOption(
      new Option(
        '--client-credentials',
        'sign in as the client itself, without a person or a browser',
      ).conflicts(['device', 'paste']),
    )
    .option('--replace', 'do not ask before changing the addresses of a profile that is signed in elsewhere');
}

export const help = `
Saves the settings and tokens as a profile. Secrets go to the operating system's
keychain, or with --store file to a file encrypted with a passphrase or a key of
\`hooktrail keygen\` [HOOKTRAIL_PASSPHRASE]. The client secret is never an
argument: login asks for it, or reads it from HOOKTRAIL_CLIENT_SECRET or with
--client-secret-stdin. Instead of a secret, HOOKTRAIL_CLIENT_KEY_FILE names a
private key, or HOOKTRAIL_CLIENT_ASSERTION_FILE a workload's own token.

While login waits, you can also paste the URL that the browser ended up at, for
instance over SSH or in a container, where the browser may not reach this
machine.

--client-credentials asks for a token of the client itself, and for another one
when it ends. It asks for no scopes unless --scope names some.

A redirect URI with port 0 uses any free port, if the provider allows that.`;

export const examples = [
  'hooktrail login',
  'hooktrail login --profile staging --store file',
  'hooktrail login --device',
  'hooktrail login --paste --no-browser',
  'hooktrail login --client-credentials --store file',
  'hooktrail login --client-secret-stdin < client-secret.txt',
];

export async function run(call: Call<SignInFlags>): Promise<void> {
  const { signIn } = await import('./sign-in.ts');
  await signIn(call);
}
