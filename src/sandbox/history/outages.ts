import type { Random } from '../random.ts';
import type { Rhythm } from './rhythm.ts';
import type { Subscription } from './subscriptions.ts';

/** A time in which an endpoint did not take deliveries. `cause` is the JSON text of the events' `lastError`. */
export interface Outage {
  readonly subscription: number;
  readonly from: number;
  readonly to: number;
  readonly cause: string;
}

const cause = (httpStatus: number | null, message: string) => JSON.stringify({ httpStatus, message });

export const causes: readonly string[] = [
  cause(503, 'Service Unavailable'),
  cause(502, 'Bad Gateway: upstream connect error or disconnect/reset before headers'),
  cause(500, 'Internal Server Error'),
  cause(504, 'Gateway Timeout'),
  cause(401, 'Unauthorized: invalid Api-Token'),
  cause(429, 'Too Many Requests'),
  cause(null, 'connect ECONNREFUSED 203.0.113.7:443'),
  cause(null, 'The certificate of the endpoint expired – “CN=hooks.example.com”'),
  cause(null, 'Timeout: no answer within 10 s'),
];

const MINUTE = 60_000;
const EXPECTED_SHARE = 0.04;

/**
 * Draws outages until about 4 % of all events fall into one. The first one lies within the last 24 hours, so that
 * there is always something recent to look into.
 */
export function drawOutages(
  random: Random,
  rhythm: Rhythm,
  subscriptions: readonly Subscription[],
): Outage[] {
  const shares = subscriptions.reduce((sum, { share }) => sum + share, 0);
  const outages: Outage[] = [];
  let failedShare = 0;
  for (let draws = 0; failedShare < EXPECTED_SHARE && draws < 500; draws++) {
    const subscription = random.below(subscriptions.length);
    const duration = (20 + 300 * random.float() ** 2) * MINUTE;
    const latest = rhythm.end - duration;
    const from =
      draws === 0
        ? rhythm.end - (90 + random.below(600)) * MINUTE
        : rhythm.start + random.float() * (latest - rhythm.start);
    const to = Math.min(from + duration, rhythm.end);
    const share = (rhythm.share(from, to) * (subscriptions[subscription] as Subscription).share) / shares;
    // One long outage of a busy endpoint alone would use up the whole share.
    if (failedShare + share > EXPECTED_SHARE * 1.2) continue;
    failedShare += share;
    outages.push({ subscription, from, to, cause: random.pick(causes) });
  }
  return outages.sort((one, other) => one.from - other.from);
}
