import type { IncomingHttpHeaders } from 'node:http';

const SECRET_HEADERS =
  /^(authorization|proxy-authorization|api-token|cookie|set-cookie|.*(secret|token|password|api-?key).*)$/i;
const SECRET_PARAMETERS =
  /^(code|state|code_verifier|client_secret|refresh_token|access_token|token|password)$/i;

/** What follows `Bearer` (RFC 6750 section 2.1), and whatever looks like a JWT (RFC 7519 section 3). */
const TOKENS = /\b(Bearer +)(?![\w-]+=)[\w.~+/=-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*/gi;

/** Header lines for `--debug`, with every secret's value replaced; `token` is one that is known. */
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
