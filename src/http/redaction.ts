import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../context.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Transport } from './transport.ts';

const SECRET_HEADERS =
  /^(authorization|proxy-authorization|api-token|cookie|set-cookie|.*(secret|token|password|api-?key).*)$/i;
const SECRET_PARAMETERS =
  /^(code|state|code_verifier|client_secret|refresh_token|access_token|token|password)$/i;

/** Matches a token after `Bearer` (RFC 6750 section 2.1), and anything that looks like a JWT (RFC 7519 section 3). */
const TOKENS = /\b(Bearer +)(?![\w-]+=)[\w.~+/=-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*/gi;

/** Header lines for `--debug`, with the value of every secret replaced. `token` is the known token. */
export function redactedHeaders(
  headers: Readonly<Record<string, string>> | IncomingHttpHeaders,
  token?: string,
): string[] {
  const safe = (text: string) =>
    withoutSecrets(token ? text.replaceAll(token, '[redacted]') : text).replace(
      TOKENS,
      (_, announcement = '') => `${announcement}[redacted]`,
    );
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`${name}: ${SECRET_HEADERS.test(name) ? redactedValue(name) : safe(String(value))}`],
  );
}

/** An address without user information and with the values of secret query parameters replaced. */
export function redactedUrl(url: URL): string {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  copy.search = withoutSecrets(copy.search);
  return copy.href;
}

/** An address or a part of one with the values of secret parameters replaced, in its query and in its fragment. */
export function withoutSecrets(address: string): string {
  return address.replace(/([?&#])([^=&#]+)=[^&#]*/g, (whole, mark, name) =>
    SECRET_PARAMETERS.test(name) ? `${mark}${name}=[redacted]` : whole,
  );
}

function redactedValue(name: string): string {
  return name.toLowerCase() === 'authorization' ? 'Bearer [redacted]' : '[redacted]';
}

/**
 * Returns the transport with tracing: a line per request for `--verbose`, also the headers for `--debug`, without
 * secrets.
 */
export function traced(transport: Transport, reporter: Reporter, clock: Clock): Transport {
  if (!reporter.verbose) return transport;
  return {
    close: () => transport.close(),
    async send(request) {
      const began = clock.now();
      const line = (outcome: string) =>
        reporter.trace(`${request.method} ${redactedUrl(request.url)} ${outcome} ${clock.now() - began} ms`);
      const headers = (mark: string, list: string[]) => {
        if (reporter.debug) for (const header of list) reporter.trace(`${mark} ${header}`);
      };
      try {
        const response = await transport.send(request);
        line(String(response.status));
        headers('>', redactedHeaders(request.headers ?? {}));
        headers('<', redactedHeaders(response.headers, bearer(request.headers?.['authorization'])));
        return response;
      } catch (error) {
        line(`failed: ${error instanceof Error ? error.message : String(error)}`);
        headers('>', redactedHeaders(request.headers ?? {}));
        throw error;
      }
    },
  };
}

/** Some services repeat the request in their answer. */
function bearer(authorization: string | undefined): string | undefined {
  return authorization?.replace(/^Bearer /, '');
}
