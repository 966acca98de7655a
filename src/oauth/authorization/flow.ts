import { loadSettings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { openVault } from '../../credentials/open-vault.ts';
import type { Reporter } from '../../output/reporter.ts';
import { bindingOf } from '../session.ts';
import { announce } from './announcement.ts';
import { type Completion, completeSignIn, settingTexts } from './completion.ts';
import { withinTime } from './deadline.ts';
import { withLines } from './pasted-lines.ts';
import { receivePasted } from './pasted-redirect.ts';
import { readPending, savePending } from './pending-sign-in.ts';
import { createAuthorizationRequest } from './request.ts';
import { expectedOf } from './response.ts';
import { prepareSignIn, type SignInFlags } from './setup.ts';
import { reportSignIn } from './summary.ts';
import { type Finish, signInByLoopback } from './wait.ts';

interface SignInOptions {
  readonly browser: boolean;
  readonly paste: boolean;
  readonly timeoutSeconds: number;
}

/** Signs in from start to end, with the redirect taken from the loopback port or pasted. */
export async function signIn(
  flags: SignInFlags,
  options: SignInOptions,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  await withLines(context, async (lines) => {
    const setup = await prepareSignIn(flags, context, lines);
    const finish: Finish = async ({ redirectUri, codeVerifier }, answer) => {
      await finishWith({ ...setup, answer, redirectUri, codeVerifier }, context, reporter);
    };
    if (!options.paste) return await signInByLoopback(setup, options, context, reporter, finish);
    const request = await createAuthorizationRequest(identityOf(setup));
    await announce(request, options, context, reporter);
    const expected = { ...request, ...expectedOf(setup.settings) };
    const answer = await withinTime(options.timeoutSeconds, context, (signal) =>
      receivePasted(request.redirectUri.url, expected, { ...context, signal }, lines, reporter),
    );
    await finish(request, answer);
  });
}

/** Prints where to sign in and how to go on, as JSON, and keeps what completing will need. */
export async function startSignIn(flags: SignInFlags, context: Context, reporter: Reporter): Promise<void> {
  const setup = await withLines(context, (lines) => prepareSignIn(flags, context, lines));
  const { settings, clientSecret } = setup;
  const { url, state, codeVerifier } = await createAuthorizationRequest(identityOf(setup));
  await savePending(settingTexts(settings), { settings, state, codeVerifier, clientSecret }, context);
  const profile = settings.profile === 'default' ? '' : ` --profile ${settings.profile}`;
  const next = `hooktrail login --complete -${profile}`;
  await context.stdout.write(`${JSON.stringify({ authorizeUrl: url.href, next })}\n`);
  reporter.notice(
    'Sign in there, then give the URL the browser ends up at to the next command, within 10 minutes.',
  );
}

/** Finishes a started sign-in with the redirected URL on standard input. */
export async function finishSignIn(
  flags: SignInFlags,
  timeoutSeconds: number,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { profile } = await loadSettings(
    flags.profile === undefined ? {} : { profile: flags.profile },
    context,
  );
  const pending = await readPending(profile, context);
  const { settings, state } = pending;
  const { redirectUri, store } = settings.require('redirectUri', 'store');
  const vault = await openVault(store, bindingOf(settings), context);
  await vault.probe();
  const expected = { state, ...expectedOf(settings) };
  const answer = await withLines(context, (lines) =>
    withinTime(timeoutSeconds, context, (signal) =>
      receivePasted(redirectUri.url, expected, { ...context, signal }, lines, reporter),
    ),
  );
  await pending.consume();
  await finishWith({ ...pending, answer, redirectUri, vault }, context, reporter);
}

async function finishWith(completion: Completion, context: Context, reporter: Reporter): Promise<void> {
  const grant = await completeSignIn(completion, context, reporter);
  reportSignIn(completion, grant, context, reporter);
}

function identityOf({ settings }: Pick<Completion, 'settings'>) {
  return settings.require('authUrl', 'clientId', 'scope', 'redirectUri');
}
