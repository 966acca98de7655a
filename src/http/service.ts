import type { Clock } from '../context.ts';
import { NotSignedInError, UnreachableError } from '../errors.ts';
import { type OnRetry, sendWithRetry } from './retry.ts';
import type { TokenSource } from './token-source.ts';
import type { HttpRequest, HttpResponse, Transport } from './transport.ts';
import { TransportError } from './transport-error.ts';

/** The event service, spoken to with the headers it requires (service description, parts 5 and 9). */
export interface Service {
  readonly baseUrl: URL;
  /** Sends the request with token and `Accept`; GET and HEAD are repeated on passing faults. Any status is an answer. */
  send(request: ServiceRequest): Promise<HttpResponse>;
}

export type ServiceRequest = Omit<HttpRequest, 'method'> & {
  readonly method?: string;
  readonly onRetry?: OnRetry | undefined;
};

export interface ServiceParts {
  readonly baseUrl: URL;
  readonly vendor: string;
  readonly tokens: TokenSource;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The media type that chooses major version 1 of the event service (service description, part 9). */
export function mediaType(vendor: string): string {
  return `application/vnd.${vendor}.v1+json`;
}

export function createService({ baseUrl, vendor, tokens, transport, clock, signal }: ServiceParts): Service {
  const attempt = async (request: ServiceRequest, token: string): Promise<HttpResponse> => {
    const { method = 'GET', onRetry, headers, ...rest } = request;
    const complete = {
      signal,
      ...rest,
      method,
      headers: { accept: mediaType(vendor), ...headers, authorization: `Bearer ${token}` },
    };
    const repeatable = method === 'GET' || method === 'HEAD';
    const response = await (repeatable
      ? sendWithRetry(transport, complete, { clock, onRetry })
      : transport.send(complete));
    return response.status < 400 ? response : { ...response, body: without(token, response.body) };
  };
  return {
    baseUrl,
    async send(request) {
      // The token belongs to one origin, and this is the last place that can keep it there.
      if (request.url.origin !== baseUrl.origin)
        throw new Error(`refusing to send a token to ${request.url.origin}`);
      const token = await tokens.accessToken();
      try {
        const response = await attempt(request, token);
        if (response.status !== 401) return response;
        const other = await replacement(tokens, token, response);
        return other === undefined ? response : await attempt(request, other);
      } catch (error) {
        throw error instanceof TransportError ? unreachable(error) : error;
      }
    },
  };
}

/** Errors are shown to people, in logs and tickets; some quote the token that they refuse. */
function without(token: string, body: Buffer): Buffer {
  if (!body.includes(token)) return body;
  return Buffer.from(body.toString('latin1').replaceAll(token, '[redacted]'), 'latin1');
}

/** Another token after a 401. Where none can be had, the service's own answer says more than the failed refresh. */
async function replacement(tokens: TokenSource, rejected: string, response: HttpResponse) {
  try {
    return await tokens.replace(rejected);
  } catch (error) {
    if (!(error instanceof NotSignedInError)) throw error;
    throw new NotSignedInError(
      `the service rejected the access token (${response.status}); ${error.message}`,
      {
        details: error.details,
        next: error.next,
        cause: error,
      },
    );
  }
}

export function unreachable(error: TransportError): UnreachableError {
  const next: Partial<Record<TransportError['kind'], string>> = {
    dns: 'check the URL and the network; behind a proxy set HTTPS_PROXY',
    refused: 'check the URL and that the service runs',
    tls: 'check the URL; for a certificate authority of your own set NODE_EXTRA_CA_CERTS',
    'connect-timeout': 'check the network; behind a proxy set HTTPS_PROXY',
  };
  return new UnreachableError(`the service could not be reached: ${error.message}`, {
    next: next[error.kind] ?? 'try again later',
    cause: error,
  });
}
