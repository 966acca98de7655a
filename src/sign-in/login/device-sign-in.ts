import { advise, hooktrail } from '../../advice.ts';
import { NotSignedInError } from '../../errors.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import { mayPass, NEW_SIGN_IN, RefusedGrantError } from '../provider-failure.ts';
import { findEndpoint } from '../provider-metadata.ts';
import {
  authorizeDevice,
  exchangeDeviceCode,
  type Grant,
  type Provider,
  withProvider,
} from '../token-endpoint.ts';
import { keepGrant } from './keep-sign-in.ts';
import { type Attempt, refusal, type SignInSetup, withinTime } from './login-attempt.ts';

export async function signInByDevice(setup: SignInSetup, attempt: Attempt): Promise<void> {
  const grant = await withinTime(attempt, (signal) => {
    const ask = (provider: Provider) => grantByDevice(provider, setup, attempt, signal);
    return withProvider(setup.settings, attempt, ask, { advice: NEW_SIGN_IN });
  });
  await keepGrant(grant, setup, attempt);
}

/**
 * Seconds between two polls if the provider gives no interval, and the increase after `slow_down` (RFC 8628
 * section 3.5).
 */
const INTERVAL_SECONDS = 5;

/**
 * Gets tokens for a code that the person enters in a browser on any device (RFC 8628). Throws
 * `NotSignedInError` if the provider does not offer this, if the person refuses, or if the code expires.
 */
async function grantByDevice(
  provider: Provider,
  { settings, proof }: SignInSetup,
  { context: { clock }, reporter }: Attempt,
  signal: AbortSignal,
): Promise<Grant> {
  const endpoint = await findEndpoint(provider, 'device_authorization_endpoint');
  if (endpoint === undefined)
    throw new NotSignedInError('the identity provider offers no sign-in by a code on another device', {
      details: ['its metadata names no device_authorization_endpoint of its own'],
      next: advise`run ${hooktrail('login --paste')}: it needs no redirect to this machine either`,
    });
  const device = await authorizeDevice(provider, proof, endpoint, settings.scope);
  const expiresAt = clock.now() + device.expires_in * 1000;
  reporter.notice('Sign in with a browser on any device. The page is');
  reporter.say(terminalSafeLine(device.verification_uri_complete ?? device.verification_uri));
  reporter.notice('The code is');
  reporter.say(terminalSafeLine(device.user_code));
  // A tiny interval would cause a flood of requests.
  let intervalSeconds = Math.max(1, device.interval ?? INTERVAL_SECONDS);
  for (;;) {
    const left = expiresAt - clock.now();
    await clock.sleep(Math.min(intervalSeconds * 1000, left), signal);
    if (intervalSeconds * 1000 >= left) throw codeExpired();
    const answer = await exchangeDeviceCode(provider, proof, device.device_code).catch(pollingAnswer);
    if (typeof answer === 'object') return answer;
    if (answer === 'slow down') intervalSeconds += INTERVAL_SECONDS;
  }
}

/**
 * Error codes for a person who declined: the one of RFC 8628 section 3.5, and the one that some providers
 * send.
 */
const DECLINED = ['access_denied', 'authorization_declined'];

/** Returns how to continue after a refused poll (RFC 8628 section 3.5). Throws if the sign-in has ended. */
function pollingAnswer(error: unknown): 'pending' | 'slow down' {
  const { error: code, description } = error instanceof RefusedGrantError ? error : {};
  if (code !== undefined && DECLINED.includes(code)) throw refusal(code, description);
  if (code === 'expired_token') throw codeExpired();
  if (code === 'authorization_pending') return 'pending';
  // RFC 8628 also requires slower polling after a time-out.
  if (code === 'slow_down' || mayPass(error)) return 'slow down';
  throw error;
}

function codeExpired(): NotSignedInError {
  return new NotSignedInError('nobody signed in before the code expired', { next: NEW_SIGN_IN.again });
}
