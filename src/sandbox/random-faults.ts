import type { Fault } from './faults.ts';
import type { Random } from './random.ts';

const statuses = [500, 502, 503, 504];

/** Draws whether and how a request fails, by chance, with a seed. */
export function drawFault(random: Random, rate: number): Fault | undefined {
  if (rate <= 0 || random.float() >= rate) return undefined;
  const draw = random.below(statuses.length + 2);
  const status = statuses[draw];
  if (status !== undefined) {
    const body = JSON.stringify({ code: 'service.unavailable', message: 'a fault drawn by chance' });
    return { kind: 'status', status, body, headers: { 'Content-Type': 'application/json' } };
  }
  return draw === statuses.length ? { kind: 'reset' } : { kind: 'reset-mid-body' };
}
