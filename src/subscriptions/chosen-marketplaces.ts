import { UsageError } from '../errors.ts';
import { listSubscriptions } from '../filters/resolve-filters.ts';
import type { Service } from '../http/service.ts';
import { canPrompt, promptText } from '../terminal/prompt.ts';
import type { ChangeCall } from './change-subscription.ts';
import { givenNames } from './subscription-flags.ts';

export async function chooseMarketplaces(
  service: Service,
  { flags, context, reporter }: ChangeCall,
): Promise<readonly string[]> {
  const listed = await listSubscriptions(service).catch(() => undefined);
  context.signal.throwIfAborted();
  const ids = [...new Set(listed?.flatMap(({ marketplaces }) => marketplaces))].sort();
  const offer = ids.length > 0 ? `your other subscriptions have ${ids.join(', ')}` : undefined;
  if (flags.yes || !canPrompt(context))
    throw new UsageError('--marketplace: needed for a subscription', {
      details: [offer ?? (listed ? NONE_LISTED : 'your other subscriptions could not be listed')],
      next: `give the id of a marketplace, as in --marketplace ${ids[0] ?? 'ID'}`,
    });
  reporter.say(offer ?? 'the service requires the id of a marketplace');
  const parse = givenNames('--marketplace');
  const check = (answer: string) => (answer === '' ? 'give the id of a marketplace' : undefined);
  return parse(await promptText('Marketplaces, with commas between them', context, check));
}

const NONE_LISTED = 'your other subscriptions name no marketplace';
