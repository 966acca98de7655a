import type { Context } from '../context.ts';
import { NotSignedInError, ServiceError, UnreachableError } from '../errors.ts';
import { TransportError } from '../http/transport.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import type { BoundSettings } from './session.ts';
import {
  authorizeDevice,
  exchangeDeviceCode,
  OPTIONAL_LIMITS,
  providerUnreachable,
  RefusedGrantError,
  readMetadata,
  type TokenGrant,
  type TokenRequestWorld,
  withProvider,
} from './token-endpoint.ts';

/** Between two polls if the provider gives no interval; `slow_down` adds as many (RFC 8628 section 3.5). */
const INTERVAL_SECONDS = 5;

/**
 * Signs in with a code that the person enters in a browser on any device (RFC 8628). Throws `NotSignedInError` if the
 * provider does not offer this, if the person refuses, or if the code expires. The context's signal ends the wait.
 */
export async function grantByDevice(
  settings: BoundSettings,
  clientSecret: string,
  context: Context,
  reporter: Reporter,
): Promise<TokenGrant> {
  const { clock, signal } = context;
  const endpoint = await deviceEndpoint(settings, context, reporter);
  return await withProvider(context, reporter, async (world) => {
    const device = await authorizeDevice(settings, clientSecret, endpoint, world);
    const expiresAt = clock.now() + device.expires_in * 1000;
    reporter.notice('Sign in with a browser on any device. The page is');
    reporter.say(terminalSafeLine(device.verification_uri_complete ?? device.verification_uri));
    reporter.notice('and the code that it asks for or shows is');
    reporter.say(terminalSafeLine(device.user_code));
    // A tiny interval would be a flood of requests.
    let interval = Math.max(1, device.interval ?? INTERVAL_SECONDS);
    for (;;) {
      const left = expiresAt - clock.now();
      await clock.sleep(Math.min(interval * 1000, left), signal);
      if (interval * 1000 >= left) throw expired();
      try {
        return await exchangeDeviceCode(settings, clientSecret, device.device_code, world);
      } catch (error) {
        if (!isPending(error)) throw explainRefusal(error);
        // RFC 8628 section 3.5: poll less often after a time-out, too.
        const isSlowDown = !(error instanceof RefusedGrantError) || error.error === 'slow_down';
        if (isSlowDown) interval += INTERVAL_SECONDS;
      }
    }
  });
}

async function deviceEndpoint(
  settings: BoundSettings,
  context: Context,
  reporter: Reporter,
): Promise<string> {
  const read = ({ transport }: TokenRequestWorld) => readMetadata(settings, transport, 'deviceAuthorization');
  const { deviceAuthorization } = await withProvider(context, reporter, read, OPTIONAL_LIMITS).catch(
    (error) => {
      if (!(error instanceof TransportError)) throw error;
      throw providerUnreachable(error, 'run `hooktrail login --device` again');
    },
  );
  if (deviceAuthorization !== undefined) return deviceAuthorization;
  throw new NotSignedInError('the identity provider offers no sign-in by a code on another device', {
    details: ['its metadata names no device_authorization_endpoint of its own'],
    next: 'run `hooktrail login --paste`: it needs no redirect to this machine either',
  });
}

/** True if the next poll may be answered otherwise. */
function isPending(error: unknown): boolean {
  if (error instanceof RefusedGrantError)
    return error.error === 'authorization_pending' || error.error === 'slow_down';
  if (error instanceof ServiceError) return error.retryable === true;
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.passing;
}

function explainRefusal(error: unknown): unknown {
  if (!(error instanceof RefusedGrantError)) return error;
  if (error.error === 'access_denied')
    return new NotSignedInError('the sign-in was refused: access_denied', {
      next: 'sign in again and allow the access',
    });
  return error.error === 'expired_token' ? expired() : error;
}

function expired(): NotSignedInError {
  return new NotSignedInError('nobody signed in before the code expired', {
    next: 'run `hooktrail login --device` again',
  });
}
