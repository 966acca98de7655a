import { durationWords, terminalSafeLine } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { methodWords } from './client-authentication.ts';
import type { CheckResult, SignInState } from './sign-in-state.ts';

const checks: { readonly [Result in CheckResult]: string } = {
  accepted: 'the service accepts the token',
  rejected: 'the service rejects the token',
  unreachable: 'the service cannot be reached',
  failed: 'the service answers with an error',
  refused: 'the identity provider refuses to renew the sign-in',
  'not-renewed': 'the service was not asked: the token could not be renewed',
};

/** `now`: milliseconds since the epoch. */
export function statusText(
  state: SignInState,
  check: CheckResult | null,
  now: number,
  zone: TimeZone,
): string {
  const rows: [string, string | null][] = [
    ['profile', state.profile],
    ['signed in', signedInText(state)],
    ['user', state.subject],
    ['token', state.source === 'environment' ? null : lifetimeText(state, now, zone)],
    ['renewal', renewalText(state, now, zone)],
    ['provider', state.authUrl],
    ['service', state.baseUrl],
    ['client', clientText(state)],
    ['vendor', state.vendor],
    ['scopes', state.scope],
    ['secrets', state.place === null ? null : `${state.store}: ${state.place}`],
    ['check', check === null ? null : checks[check]],
  ];
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)} ${terminalSafeLine(value)}\n`]))
    .join('');
}

function clientText({ clientId, clientAuthentication: method }: SignInState): string | null {
  if (clientId === null || method === null || method === 'secret') return clientId;
  return `${clientId}, ${methodWords[method]}`;
}

function signedInText({ source, signedIn, refused, perhapsSpentAt, grant }: SignInState): string {
  if (source === 'environment') return 'by the token in HOOKTRAIL_ACCESS_TOKEN';
  if (signedIn) return grant === 'client_credentials' ? 'yes, as the client (client_credentials)' : 'yes';
  if (perhapsSpentAt !== null) return 'no: the sign-in may be lost';
  if (refused === null) return 'no';
  return refused === 'client' ? 'no: the client is refused' : 'no: the sign-in has ended';
}

function lifetimeText(
  { signedIn, expiresAt, renewable, refusedAt }: SignInState,
  now: number,
  zone: TimeZone,
): string | null {
  if (!signedIn && expiresAt === null) return null;
  const after = renewable && refusedAt === null ? 'renewed when needed' : 'then sign in again';
  if (expiresAt === null) return `of unknown lifetime, ${after}`;
  const time = zone.shown(expiresAt);
  const left = Date.parse(expiresAt) - now;
  if (left > 0) return `${durationWords(left)} left, until ${time}, ${after}`;
  return signedIn ? `ended ${time}, ${after}` : `ended ${time}`;
}

function renewalText(
  { refusedAt, refused, perhapsSpentAt }: SignInState,
  now: number,
  zone: TimeZone,
): string | null {
  if (perhapsSpentAt !== null)
    return `the refresh token may be spent: a process that ended sent it at ${zone.shown(perhapsSpentAt)}`;
  if (refusedAt === null) return null;
  const ago = durationWords(Math.max(0, now - Date.parse(refusedAt)));
  const what = refused === 'client' ? 'the client id or its secret ' : '';
  return `${what}refused by the identity provider ${ago} ago, at ${zone.shown(refusedAt)}`;
}
