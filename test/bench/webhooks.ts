import { benchWebhookJournal } from './webhooks-journal.ts';
import { benchWebhookLoad } from './webhooks-load.ts';

/** Deliveries a second, and a journal of ten million ids. `npm run faults` is about crashes. */
export async function benchWebhooks(): Promise<void> {
  await benchWebhookLoad();
  await benchWebhookJournal();
}
