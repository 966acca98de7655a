import type { Random } from '../random.ts';
import { guidText, randomGuid } from '../store/guid.ts';

export interface Subscription {
  readonly id: string;
  readonly endpoint: string;
  readonly share: number;
}

const endpoints: readonly (readonly [string, number])[] = [
  ['https://hooks.example.com/contracts/events', 30],
  ['https://crm.example.com/inbound/signatures', 22],
  ['https://erp.example.net/api/webhooks/v2', 16],
  ['https://archive.example.org/ingest', 12],
  ['https://hr.example.com/onboarding/hook', 8],
  ['https://billing.example.net/events?source=documents', 6],
  ['https://notify.example.org/chat/legal', 4],
  ['https://staging.example.com/hooks/test', 2],
];

/** The endpoints that events are published to, with ids of their own for each seed. */
export function createSubscriptions(random: Random): Subscription[] {
  return endpoints.map(([endpoint, share]) => {
    const words = randomGuid(random);
    return { id: guidText(...words), endpoint, share };
  });
}
