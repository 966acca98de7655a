import type { Clock } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { OnRetry } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { describeBody, serviceError } from '../http/service-error.ts';
import type { HttpResponse } from '../http/transport.ts';
import { JsonSyntaxError } from '../json/json-scanner.ts';
import { type Query, searchUrl } from './event-query.ts';
import { type Page, readPage } from './page.ts';
import { totalOf } from './read-account.ts';

/** A page and the service's own clock when it answered, in milliseconds (from `Date`, RFC 9110 section 6.6.1). */
export interface Answer {
  readonly page: Page;
  readonly serviceTime: number | undefined;
}

/** Asks for one collection at an address. */
export type FetchPage = (url: URL, signal?: AbortSignal) => Promise<Answer>;

/**
 * Returns the service's own `count` from a page of one item (service description, part 2), or undefined if the service
 * gives no count or only the size of the page.
 */
export async function askCount(
  fetchPage: FetchPage,
  baseUrl: URL,
  query: Query,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { page } = await fetchPage(searchUrl(baseUrl, query, { start: 1, count: 1 }), signal);
  const total = totalOf(page);
  return total !== undefined && total < page.items.count ? undefined : total;
}

const TRIES = 3;
const CHECK_BASE_URL = 'check --base-url (HOOKTRAIL_BASE_URL), or try again later';

/**
 * Asks for pages of a collection. A body that is not the JSON it should be (cut short by a proxy, say) is asked for
 * again, up to 3 times in all, before it becomes a `ServiceError`; `failure` says
 * what did not work where the service answers with an error.
 */
export function pageFetcher(
  service: Service,
  clock: Clock,
  onRetry?: OnRetry,
  failure = 'the search failed',
): FetchPage {
  return async (url, signal) => {
    for (let attempt = 1; ; attempt++) {
      const response = await service.send({ url, ...(signal ? { signal } : {}), onRetry });
      if (response.status !== 200) throw serviceError(response, failure);
      const date = Date.parse(response.headers.date ?? '');
      try {
        const page = readPage(response.body);
        if (!page.isCollection) throw noCollection(describeBody(response));
        return { page, serviceTime: Number.isNaN(date) ? undefined : date };
      } catch (error) {
        if (!(error instanceof JsonSyntaxError)) throw error;
        if (attempt === TRIES) throw damaged(error, response);
        onRetry?.({ reason: 'an answer that is not JSON', delay: attempt * 500 });
        await clock.sleep(attempt * 500, signal);
      }
    }
  };
}

function noCollection(details: string[]): ServiceError {
  return new ServiceError('the service answered with something that is not a collection', {
    details,
    next: CHECK_BASE_URL,
  });
}

function damaged(error: JsonSyntaxError, response: HttpResponse): ServiceError {
  // Plain text or a proxy's page explains the fault; a truncated collection does not.
  const words = /^\s*[[{]/.test(response.body.toString('latin1', 0, 100)) ? [] : describeBody(response);
  return new ServiceError('the service answered with something that is not a collection in JSON', {
    details: [error.message, ...words],
    next: CHECK_BASE_URL,
    cause: error,
  });
}
