import type { SignInState } from '../sign-in/session.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';

/** The result of `status --check`. `refused` and `not-renewed` concern the identity provider, the others the service. */
export type CheckResult = keyof typeof checks;

const checks = {
  accepted: 'the service accepts the token',
  rejected: 'the service rejects the token',
  unreachable: 'the service cannot be reached',
  failed: 'the service answers with an error',
  refused: 'the identity provider refuses to renew the sign-in',
  'not-renewed': 'the service was not asked: the token could not be renewed',
} as const;

/** Returns what `status` prints. `now` is in milliseconds since the epoch. */
export function statusText(
  state: SignInState,
  check: CheckResult | null,
  now: number,
  zone: TimeZone = UTC,
): string {
  const rows: [string, string | null][] = [
    ['profile', state.profile],
    ['signed in', signedIn(state)],
    ['token', state.source === 'stored' ? lifetime(state, now, zone) : null],
    ['provider', state.authUrl],
    ['service', state.baseUrl],
    ['client', state.clientId],
    ['vendor', state.vendor],
    ['scopes', state.scope],
    ['secrets', state.place === null ? null : `${state.store}: ${state.place}`],
    ['check', check === null ? null : checks[check]],
  ];
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)} ${terminalSafeLine(value)}\n`]))
    .join('');
}

function signedIn({ source, signedIn }: SignInState): string {
  if (!signedIn) return 'no';
  return source === 'environment' ? 'by the token in HOOKTRAIL_ACCESS_TOKEN' : 'yes';
}

function lifetime({ expiresAt, renewable }: SignInState, now: number, zone: TimeZone): string {
  const after = renewable ? 'renewed when needed' : 'then sign in again';
  if (expiresAt === null) return `of unknown lifetime, ${after}`;
  const time = zone.shown(expiresAt);
  return Date.parse(expiresAt) > now ? `until ${time}, ${after}` : `ended ${time}, ${after}`;
}
