import type { Context } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { openVault } from '../secrets/open-vault.ts';
import { readConfig } from '../settings/config-file.ts';
import { chooseProfile } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { announce } from './announcement.ts';
import { type AuthorizationRequest, createAuthorizationRequest } from './authorization-request.ts';
import { expectedOf, issuerText } from './authorization-response.ts';
import { receivePasted, withLines } from './pasted-redirect.ts';
import { readPending, savePending } from './pending-sign-in.ts';
import { type Answer, receiveRedirect } from './redirect-listener.ts';
import type { PageName } from './redirect-page.ts';
import { openLoopbackPort } from './redirect-port.ts';
import { bindingOf } from './session.ts';
import { type Completion, completeSignIn, reportSignIn, settingTexts } from './sign-in-completion.ts';
import { prepareSignIn, type SignInFlags, type SignInSetup } from './sign-in-setup.ts';

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
    const request = await createAuthorizationRequest(setup.settings);
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
  const { url, state, codeVerifier } = await createAuthorizationRequest(setup.settings);
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
  const { profile } = chooseProfile(flags, context.environment, await readConfig(context));
  const pending = await readPending(profile, context);
  const { settings, state } = pending;
  const { redirectUri } = settings;
  const vault = await openVault(settings.store, bindingOf(settings), context);
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

interface WaitOptions {
  readonly browser: boolean;
  readonly timeoutSeconds: number;
}

export type Finish = (request: AuthorizationRequest, answer: Answer) => Promise<void>;

/**
 * Sends the user to sign in, waits for the redirect on the loopback port, lets `finish` use the answer, and tells the
 * browser how that went. The port is free when this returns or throws.
 */
export async function signInByLoopback(
  { settings }: Pick<SignInSetup, 'settings'>,
  { browser, timeoutSeconds }: WaitOptions,
  context: Context,
  reporter: Reporter,
  finish: Finish,
): Promise<void> {
  const port = await openLoopbackPort(settings.redirectUri);
  try {
    const request = await createAuthorizationRequest({ ...settings, redirectUri: port.redirectUri });
    const expected = { state: request.state, ...expectedOf(settings) };
    const reception = receiveRedirect(port, expected, strays(expected.issuer, reporter), context.clock);
    await announce(request, { browser, paste: false }, context, reporter);
    const answer = await withinTime(timeoutSeconds, context, () => reception.answer);
    let page: PageName = answer.kind === 'refused' ? 'refused' : 'failed';
    try {
      await finish(request, answer);
      page = 'signedIn';
    } finally {
      await reception.conclude(page);
    }
  } finally {
    port.close();
  }
}

function strays(expected: string, reporter: Reporter) {
  let warned = false;
  return {
    stray: (reason: string) => reporter.trace(`a request to the redirect URI was turned away: ${reason}`),
    foreign: (issuer: string | undefined) => {
      // Once: a page that reloads itself must not flood the terminal.
      if (warned) return;
      warned = true;
      reporter.warning(`a redirect was turned away: it names ${issuerText(issuer)}, expected is ${expected}`);
      reporter.say(
        'If the provider is the right one, stop with Ctrl+C and give what it names with --issuer (none: unchecked).',
      );
    },
  };
}

/**
 * Waits that long for somebody to sign in. `wait` is given a signal that aborts when time is up or the program is interrupted.
 * Throws `NotSignedInError` when time is up.
 */
export async function withinTime<Result>(
  seconds: number,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const late = clock.sleep(seconds * 1000, either).then(() => {
    const error = tooLate(seconds);
    over.abort(error);
    throw error;
  });
  try {
    return await Promise.race([wait(either), late]);
  } finally {
    over.abort(new Error('over'));
  }
}

function tooLate(seconds: number): NotSignedInError {
  return new NotSignedInError(`nobody signed in within ${seconds} s`, {
    next: 'run `hooktrail login` again (--timeout SECONDS waits longer; --paste needs no way back to this machine)',
  });
}
