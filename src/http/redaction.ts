import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../context.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Transport } from './transport.ts';

const SECRET_HEADERS =
  /^(authorization|proxy-authorization|api-token|cookie|set-cookie|.*(secret|token|password|api-?key).*)$/i;
/** The value of a secret parameter in the query or the fragment of an address. */
const IN_ADDRESS =
  /([?&#](?:code|state|code_verifier|client_secret|client_assertion|refresh_token|access_token|id_token|token|password)=)[^&#\s]*/gi;
/** The value of a secret parameter in a form, in JSON or in a sentence; whole where it is quoted. */
const IN_TEXT =
  /\b((?:access|refresh|id)_token|client_secret|code_verifier|device_code|password)(["']?\s*[:=]\s*)(?:(")(?:[^"\\]|\\.)*"|(')[^']*'|["']?[^\s"',&#]+)/gi;
/** A token after `Bearer` (RFC 6750 section 2.1), and anything that looks like a JWT (RFC 7519 section 3). */
const TOKENS = /\b(Bearer +)(?![\w-]+=)[\w.~+/=-]+|\beyJ[\w-]{8,}(?:\.[\w-]*)*/gi;

/**
 * Returns a text of others without secrets: those in `known`, which a peer may repeat in its explanation, the
 * values of secret parameters, and all that looks like a token.
 */
export function redactSecrets(text: string, known: readonly string[] = []): string {
  let safe = text;
  for (const secret of known.filter((secret) => secret.length > 3))
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
      safe = safe.replaceAll(form, '[redacted]');
  return safe
    .replace(IN_ADDRESS, '$1[redacted]')
    .replace(IN_TEXT, (_, name, sign, double = '', single = '') => {
      const quote = double || single;
      return `${name}${sign}${quote}[redacted]${quote}`;
    })
    .replace(TOKENS, (_, announcement = '') => `${announcement}[redacted]`);
}

/** Header lines for `--debug`, with the value of every secret replaced. `token` is the known token. */
export function redactHeaders(
  headers: Readonly<Record<string, string>> | IncomingHttpHeaders,
  token?: string,
): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (name.toLowerCase() === 'authorization') return [`${name}: Bearer [redacted]`];
    if (SECRET_HEADERS.test(name)) return [`${name}: [redacted]`];
    return [`${name}: ${redactSecrets(String(value), token ? [token] : [])}`];
  });
}

/** An address without user information and with the values of secret parameters replaced. */
export function redactUrl(url: URL): string {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  copy.search = copy.search.replace(IN_ADDRESS, '$1[redacted]');
  return copy.href;
}

/**
 * Returns the transport with tracing: a line per request for `--verbose`, also the headers for `--debug`,
 * without secrets.
 */
export function traced(transport: Transport, reporter: Reporter, clock: Clock): Transport {
  if (!reporter.verbose) return transport;
  return {
    close: () => transport.close(),
    async send(request) {
      const began = clock.now();
      const { method, url, headers = {} } = request;
      const trace = (outcome: string, received: string[] = []) => {
        reporter.trace(`${method} ${redactUrl(url)} ${outcome} ${clock.now() - began} ms`);
        const sent = redactHeaders(headers).map((header) => `> ${header}`);
        if (reporter.debug) for (const line of [...sent, ...received]) reporter.trace(line);
      };
      try {
        const response = await transport.send(request);
        // Some services repeat the request in their answer.
        const token = headers['authorization']?.replace(/^Bearer /, '');
        trace(
          String(response.status),
          redactHeaders(response.headers, token).map((header) => `< ${header}`),
        );
        return response;
      } catch (error) {
        trace(`failed: ${error instanceof Error ? error.message : String(error)}`);
        throw error;
      }
    },
  };
}
