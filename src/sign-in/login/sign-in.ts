import type { Call } from '../../command.ts';
import { isSecretGiven } from '../../secrets/given-secret.ts';
import { withLines } from '../../terminal/prompt.ts';
import { signInAsClient } from './client-sign-in.ts';
import { signInByDevice } from './device-sign-in.ts';
import { saveTyped } from './keep-sign-in.ts';
import type { SignInFlags } from './login-attempt.ts';
import { prepareSignIn } from './login-setup.ts';
import { signInByRedirect } from './redirect-sign-in.ts';

export async function signIn(call: Call<SignInFlags>): Promise<void> {
  const { flags, settings, context, reporter } = call;
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment))
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is set: commands use it instead of this sign-in', {
      kind: 'usage',
    });
  await withLines(context, async (lines) => {
    const attempt = { flags, settings, context, reporter, lines, typed: {} };
    try {
      const setup = await prepareSignIn(attempt);
      await methodOf(flags)(setup, attempt);
    } catch (error) {
      await saveTyped(attempt);
      throw error;
    }
  });
}

function methodOf({ clientCredentials, device }: SignInFlags) {
  if (clientCredentials) return signInAsClient;
  return device ? signInByDevice : signInByRedirect;
}
