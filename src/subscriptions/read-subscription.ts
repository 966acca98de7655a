import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { apiUrl, type Service, serviceError } from '../http/service.ts';
import { NO_SUBSCRIPTIONS, subscriptionPath } from '../names/subscription-names.ts';
import { idIn, SubscriptionText } from './subscription-text.ts';

export interface ReadSubscription {
  readonly id: string;
  readonly text: SubscriptionText;
  readonly etag: string | undefined;
}

/** Throws `ServiceError`, including for an unknown id. */
export async function readSubscription(
  id: string,
  service: Service,
  { signal }: Pick<Context, 'signal'>,
): Promise<ReadSubscription> {
  const url = apiUrl(service.baseUrl, subscriptionPath(id));
  const answer = await service.send({ url, signal });
  if (answer.status === 404) throw unknownSubscription(id);
  if (answer.status !== 200) throw serviceError(answer, `the subscription ${id} cannot be read`);
  const text = SubscriptionText.of(answer.body);
  const named = idIn(answer.body);
  if (named !== undefined && named.toLowerCase() !== id.toLowerCase())
    throw new ServiceError(`the service answered with another subscription: ${named}`, {
      next: 'run the command again; if that happens again, something between here and the service is at fault',
    });
  return { id, text, etag: answer.headers.etag };
}

function unknownSubscription(id: string): ServiceError {
  return new ServiceError(`the service knows no subscription ${id}`, {
    kind: 'not-found',
    status: 404,
    next: advise`${hooktrail('subscriptions')} lists those that are switched on; ${NO_SUBSCRIPTIONS}`,
  });
}

/**
 * A single entity tag (RFC 9110 section 8.8.3), with or without quotes. `*` or several tags would also match
 * after changes by others.
 */
const ENTITY_TAG = /^((W\/)?"[^"]*"|[^\s",*]+)$/;

/** Returns the condition for a change. Throws `ServiceError` if the service gave no `ETag`. */
export function matchOf({ id, etag }: ReadSubscription): { readonly 'if-match': string } {
  if (etag !== undefined && ENTITY_TAG.test(etag)) return { 'if-match': etag };
  const what = etag ? `an invalid ETag, ${etag},` : 'no ETag';
  throw new ServiceError(`the service gave ${what} for the subscription ${id}`, {
    next: "without one, a change could undo somebody else's; this service may not support changes of subscriptions",
  });
}
