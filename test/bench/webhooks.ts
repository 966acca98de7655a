import { benchWebhookJournal } from './webhooks-journal.ts';
import { benchWebhookLoad } from './webhooks-load.ts';

/** Measures deliveries per second, and a journal of ten million ids. For crashes, see `npm run faults`. */
export async function benchWebhooks(): Promise<void> {
  await benchWebhookLoad();
  await benchWebhookJournal();
}
