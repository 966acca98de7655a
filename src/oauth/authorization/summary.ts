import { urlText } from '../../config/url-text.ts';
import type { Context } from '../../context.ts';
import type { Reporter } from '../../output/reporter.ts';
import type { TokenGrant } from '../token/endpoint.ts';
import type { Completion } from './completion.ts';

/** Tells on standard error what a finished sign-in is good for. */
export function reportSignIn(
  { settings, vault }: Pick<Completion, 'settings' | 'vault'>,
  grant: TokenGrant,
  { clock }: Pick<Context, 'clock'>,
  reporter: Reporter,
): void {
  const { authUrl, baseUrl, scope } = settings.require('authUrl', 'baseUrl', 'scope');
  reporter.success(`Signed in at ${urlText(authUrl)}`);
  reporter.notice(`  profile   ${settings.profile}`);
  reporter.notice(`  service   ${urlText(baseUrl)}`);
  reporter.notice(`  token     ${lifetime(grant, clock.now())}`);
  reporter.notice(`  secrets   ${vault.place}`);
  const withheld = scope.split(' ').filter((name) => !(grant.scope ?? scope).split(' ').includes(name));
  if (withheld.length > 0) reporter.warning(`not granted: ${withheld.join(' ')}`);
}

function lifetime({ expiresAt, refreshToken }: TokenGrant, now: number): string {
  const end = expiresAt === undefined ? '' : `for ${lengthText(Math.max(0, expiresAt - now))}`;
  if (refreshToken === undefined)
    return `${end || 'of unknown lifetime'}, then sign in again (no refresh token was granted)`;
  return `${end}${end ? ', ' : ''}renewed when needed`;
}

function lengthText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [number, unit] = seconds < 120 ? [seconds, 'second'] : [Math.round(seconds / 60), 'minute'];
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}
