import type { Context } from '../../context.ts';
import type { Reporter } from '../../output/reporter.ts';
import { type Answer, receiveRedirect } from '../loopback/listener.ts';
import type { PageName } from '../loopback/page.ts';
import { openLoopbackPort } from '../loopback/port.ts';
import { announce } from './announcement.ts';
import { withinTime } from './deadline.ts';
import { type AuthorizationRequest, createAuthorizationRequest } from './request.ts';
import { expectedOf, issuerText } from './response.ts';
import type { SignInSetup } from './setup.ts';

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
  const identity = settings.require('authUrl', 'clientId', 'scope', 'redirectUri');
  const port = await openLoopbackPort(identity.redirectUri);
  try {
    const request = await createAuthorizationRequest({ ...identity, redirectUri: port.redirectUri });
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
