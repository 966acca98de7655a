import { type HooktrailError, ServiceError } from '../errors.ts';
import type { HttpResponse } from '../http/transport.ts';
import type { ReadSubscription } from './read-subscription.ts';

/** Statuses for a failed or missing condition (RFC 9110 section 13, RFC 6585 section 3). */
const REFUSED_CONDITION = new Set([409, 412, 428]);
const PRECONDITION_FAILED = 412;

/** A weak entity tag (RFC 9110 section 8.8.3) never fulfils `If-Match`. */
const WEAK_TAG = /^W\//;

export function isConditionRefused({ status }: Pick<HttpResponse, 'status'>): boolean {
  return REFUSED_CONDITION.has(status);
}

/**
 * Returns the error for a refused `ETag` that is still current, so nobody else is to blame. Returns undefined
 * if the `ETag` has changed, or is unknown.
 */
export function ownEtagRefused(
  { status }: Pick<HttpResponse, 'status'>,
  { id, etag }: ReadSubscription,
  again: ReadSubscription | undefined,
  outcome: string,
  failure: HooktrailError,
): HooktrailError | undefined {
  if (etag === undefined || again?.etag !== etag) return undefined;
  const isWeak = WEAK_TAG.test(etag);
  // Leave conflicts unrelated to the ETag to the service's own error.
  if (status !== PRECONDITION_FAILED && !isWeak) return failure;
  const reason = isWeak
    ? `the ETag ${etag} is weak, and no condition can be met by it (RFC 9110, section 13.1.1)`
    : `the subscription still has the ETag ${etag}`;
  return new ServiceError(
    `the service refused the ETag that it gave for the subscription ${id}; ${outcome}`,
    {
      details: [reason, failure.message, ...failure.details],
      next: 'tell the owner of the service, or of a proxy before it: nothing can be changed until the ETag is accepted',
      status,
      cause: failure,
    },
  );
}
