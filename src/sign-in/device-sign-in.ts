import type { Context } from '../context.ts';
import { NotSignedInError, UnreachableError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import { TOKEN_LIMITS } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';
import { createTransport } from '../http/undici-transport.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { SignInSetup } from './sign-in-setup.ts';
import {
  authorizeDevice,
  exchangeDeviceCode,
  METADATA_LIMITS,
  RefusedGrantError,
  readMetadata,
  type TokenGrant,
} from './token-endpoint.ts';

/** Seconds between two polls if the provider gives no interval; `slow_down` adds as many (RFC 8628 section 3.5). */
const INTERVAL = 5;

/**
 * Signs in with a code that the person enters in a browser on any device (RFC 8628). Throws `NotSignedInError` if the
 * provider does not offer this, or if the person refuses. The context's signal ends the wait.
 */
export async function deviceGrant(
  { settings, clientSecret }: Pick<SignInSetup, 'settings' | 'clientSecret'>,
  context: Context,
  reporter: Reporter,
): Promise<TokenGrant> {
  const { clock, signal } = context;
  const endpoint = await deviceEndpoint(settings, context, reporter);
  const transport = traced(createTransport(context, TOKEN_LIMITS), reporter, clock);
  try {
    const world = { transport, clock };
    const device = await authorizeDevice(settings, clientSecret, endpoint, world);
    reporter.notice('Sign in with a browser on any device. The page is');
    reporter.say(device.verification_uri_complete ?? device.verification_uri);
    reporter.notice('and the code that it asks for or shows is');
    reporter.say(device.user_code);
    let interval = device.interval ?? INTERVAL;
    for (;;) {
      await clock.sleep(interval * 1000, signal);
      try {
        return await exchangeDeviceCode(settings, clientSecret, device.device_code, world);
      } catch (error) {
        if (!isPending(error)) throw explained(error);
        // RFC 8628 section 3.5: poll less often after a time-out, too.
        const isSlowDown = !(error instanceof RefusedGrantError) || error.error === 'slow_down';
        if (isSlowDown) interval += INTERVAL;
      }
    }
  } finally {
    await transport.close();
  }
}

async function deviceEndpoint(
  settings: SignInSetup['settings'],
  context: Context,
  reporter: Reporter,
): Promise<string> {
  const transport = traced(createTransport(context, METADATA_LIMITS), reporter, context.clock);
  try {
    const { deviceAuthorization } = await readMetadata(settings, transport);
    if (deviceAuthorization !== undefined) return deviceAuthorization;
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    throw new UnreachableError(`the identity provider could not be reached: ${error.message}`, {
      cause: error,
      next:
        error.setupStep ??
        'check the network and --auth-url (HOOKTRAIL_AUTH_URL), then run `hooktrail login --device` again',
    });
  } finally {
    await transport.close();
  }
  throw new NotSignedInError('the identity provider offers no sign-in by a code on another device', {
    details: [
      'its metadata (.well-known/openid-configuration) names no device_authorization_endpoint of its own',
    ],
    next: 'run `hooktrail login --paste`: it needs no redirect to this machine either',
  });
}

function isPending(error: unknown): boolean {
  if (error instanceof RefusedGrantError)
    return error.error === 'authorization_pending' || error.error === 'slow_down';
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.passing;
}

function explained(error: unknown): unknown {
  if (!(error instanceof RefusedGrantError)) return error;
  if (error.error === 'access_denied')
    return new NotSignedInError('the sign-in was refused: access_denied', {
      next: 'sign in again and allow the access',
    });
  if (error.error === 'expired_token')
    return new NotSignedInError('nobody signed in before the code expired', {
      next: 'run `hooktrail login --device` again',
    });
  return error;
}
