import { benchWebhookCrash } from './webhooks-crash.ts';
import { benchWebhookJournal } from './webhooks-journal.ts';
import { benchWebhookLoad } from './webhooks-load.ts';

/** Deliveries a second, what a SIGKILL in mid-load leaves, and a journal of ten million ids. */
export async function benchWebhooks(): Promise<void> {
  await benchWebhookLoad();
  await benchWebhookCrash();
  await benchWebhookJournal();
}
