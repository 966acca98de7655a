import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../context.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Transport } from './transport.ts';

const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);
const SECRET_HEADER = /secret|token|password|api-?key/i;
/** Ending of names of JSON members with secret values. */
const SECRET_MEMBER = /(?:secret|token|password|api[-_]?key|assertion|code_verifier|device_code)s?$/i;
const IN_ADDRESS =
  /([?&#](?:code|state|code_verifier|client_secret|client_assertion|refresh_token|access_token|id_token|token|password)=)[^&#\s]*/gi;
/** Values of secret parameters in a form, in JSON or in a sentence; a quoted value is matched whole. */
const IN_TEXT =
  /\b((?:access|refresh|id)_token|api[-_]?(?:token|key)|client_secret|code_verifier|device_code|password)(["']?\s*[:=]\s*)(?:(")(?:[^"\\]|\\.)*"|(')[^']*'|["']?[^\s"',&#]+)/gi;
/** A token after `Bearer` (RFC 6750 section 2.1), and anything that looks like a JWT (RFC 7519 section 3). */
const TOKENS = /\b(Bearer +)(?![\w-]+=)[\w.~+/=-]+|\beyJ[\w-]{8,}(?:\.[\w-]*)*/gi;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Characters of the shortest text that counts as a secret because of its name. */
const SHORTEST_SECRET_CHARACTERS = 8;

function isSecretHeader(name: string): boolean {
  return SECRET_HEADERS.has(name.toLowerCase()) || SECRET_HEADER.test(name);
}

export function secretsInHeaders(headers: Headers): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!isSecretHeader(name) || value === undefined) return [];
    const texts = [value].flat();
    if (/cookie$/i.test(name)) return texts.flatMap(valuesOfCookies);
    // If a proxy repeats a header, its values arrive joined by a comma.
    return texts.flatMap((text) => [text, text.replace(/^(?:Bearer|Basic) +/i, ''), ...text.split(', ')]);
  });
}

function valuesOfCookies(text: string): string[] {
  return text
    .split(';')
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
    .filter((value) => /^[^\s,]{16,}$/.test(value));
}

export function secretsInJson(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const isSecret = typeof member === 'string' && SECRET_MEMBER.test(name) && !/\s/.test(member);
    if (isSecret && member.length >= SHORTEST_SECRET_CHARACTERS) return [member];
    return secretsInJson(member);
  });
}

/**
 * Removes secrets from a foreign text: those in `known`, which a peer may quote, values of secret parameters,
 * and everything that looks like a token.
 */
export function redactSecrets(text: string, known: readonly string[] = []): string {
  return redactKnown(text, known)
    .replace(IN_ADDRESS, '$1[redacted]')
    .replace(IN_TEXT, (_, name, sign, double = '', single = '') => {
      const quote = double || single;
      return `${name}${sign}${quote}[redacted]${quote}`;
    })
    .replace(TOKENS, (_, announcement = '') => `${announcement}[redacted]`);
}

/** Removes these secrets from a text, in any encoding. */
export function redactKnown(text: string, known: readonly string[]): string {
  const secrets = [...new Set(known)].filter((secret) => secret.length > 3);
  // The longest first: one may be a part of another.
  secrets.sort((a, b) => b.length - a.length);
  let safe = text;
  for (const secret of secrets) {
    for (const form of formsOf(secret)) safe = safe.replaceAll(form, REDACTED);
    safe = redactDecoded(safe, secret);
  }
  return safe;
}

const REDACTED = '[redacted]';

/** Encodings of a whole secret. Those of its characters, as in JSON, are decoded in the text instead. */
const ENCODINGS: readonly ((bytes: Buffer) => string)[] = [
  (bytes) => bytes.toString('base64').replace(/=+$/, ''),
  (bytes) => bytes.toString('base64url'),
  (bytes) => bytes.toString('hex'),
  (bytes) => bytes.toString('hex').toUpperCase(),
];

function formsOf(secret: string): string[] {
  if (secret.length < SHORTEST_SECRET_CHARACTERS) return [secret];
  const bytes = Buffer.from(secret);
  return [secret, ...ENCODINGS.map((encode) => encode(bytes))];
}

/** Replaces a secret with characters encoded for an address, JSON or HTML, once or repeatedly. */
function redactDecoded(text: string, secret: string): string {
  if (text.search(ESCAPE) === -1) return text;
  const source = Buffer.from(text).toString('latin1');
  const { decoded, offsets } = decode(source);
  const wanted = decode(Buffer.from(secret).toString('latin1')).decoded;
  let safe = '';
  let end = 0;
  for (let at = decoded.indexOf(wanted); at !== -1; at = decoded.indexOf(wanted, at + wanted.length)) {
    safe += source.slice(end, offsets[at]) + REDACTED;
    end = offsets[at + wanted.length] as number;
  }
  return end === 0 ? text : Buffer.from(safe + source.slice(end), 'latin1').toString();
}

/** An encoded character, perhaps repeatedly: JSON nested in JSON text has more backslashes. */
const ESCAPE =
  /%(?:25){0,4}([0-9a-f]{2})|\\{1,8}u([0-9a-f]{4})|\\{1,8}([^u])|&#(\d{1,7});|&#x([0-9a-f]{1,6});|&(amp|lt|gt|quot|apos);/i;
const HTML_NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const JSON_NAMES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Returns the decoded bytes, and the offset of each in the source, followed by that of the end. */
function decode(source: string): { readonly decoded: string; readonly offsets: readonly number[] } {
  const offsets: number[] = [];
  const parts: string[] = [];
  const add = (part: string, start: number, step: 0 | 1) => {
    parts.push(part);
    for (let index = 0; index < part.length; index++) offsets.push(start + index * step);
  };
  let end = 0;
  for (const match of source.matchAll(new RegExp(ESCAPE, 'gi'))) {
    add(source.slice(end, match.index), end, 1);
    add(decodedText(match), match.index, 0);
    end = match.index + match[0].length;
  }
  add(source.slice(end), end, 1);
  offsets.push(source.length);
  return { decoded: parts.join(''), offsets };
}

function decodedText([, percent, unicode, json, decimal, hex, name]: readonly (
  | string
  | undefined
)[]): string {
  if (percent !== undefined) return String.fromCharCode(Number.parseInt(percent, 16));
  if (json !== undefined) return JSON_NAMES[json] ?? json;
  if (name !== undefined) return HTML_NAMES[name.toLowerCase()] as string;
  const code = decimal === undefined ? Number.parseInt(unicode ?? hex ?? '', 16) : Number(decimal);
  return Buffer.from(String.fromCodePoint(Math.min(code, 0x10_ffff))).toString('latin1');
}

/** Redacts all strings in a JSON value, and secrets in the names of members. */
export function redactJson(value: unknown, known: readonly string[]): unknown {
  if (typeof value === 'string') return redactSecrets(value, known);
  if (Array.isArray(value)) return value.map((element) => redactJson(element, known));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    redactKnown(name, known),
    redactJson(member, known),
  ]);
  return Object.fromEntries(members);
}

/** Formats header lines for `--debug`, with known secrets and the values of all secret headers replaced. */
export function redactHeaders(
  headers: Readonly<Record<string, string>> | IncomingHttpHeaders,
  known: readonly string[],
): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (name.toLowerCase() === 'authorization') return [`${name}: Bearer [redacted]`];
    if (isSecretHeader(name)) return [`${name}: [redacted]`];
    return [`${name}: ${redactSecrets(String(value), known)}`];
  });
}

export function redactUrl(url: URL, known: readonly string[]): string {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  copy.search = copy.search.replace(IN_ADDRESS, '$1[redacted]');
  return redactKnown(copy.href, known);
}

/**
 * Traces a transport: a line per request for `--verbose`, plus the headers for `--debug`, without secrets.
 */
export function traced(transport: Transport, reporter: Reporter, clock: Clock): Transport {
  if (!reporter.verbose) return transport;
  return {
    close: () => transport.close(),
    async send(request) {
      const began = clock.now();
      const { method, url, headers = {} } = request;
      // Some services repeat the request in their answer.
      const sentSecrets = secretsInHeaders(headers);
      const trace = (outcome: string, received: string[] = []) => {
        const line = `${method} ${redactUrl(url, sentSecrets)} ${outcome} ${clock.now() - began} ms`;
        reporter.trace(line);
        const sent = redactHeaders(headers, sentSecrets).map((header) => `> ${header}`);
        if (reporter.debug) for (const line of [...sent, ...received]) reporter.trace(line);
      };
      try {
        const response = await transport.send(request);
        const known = [...sentSecrets, ...secretsInHeaders(response.headers)];
        trace(
          String(response.status),
          redactHeaders(response.headers, known).map((header) => `< ${header}`),
        );
        return response;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        trace(`failed: ${redactKnown(message, sentSecrets)}`);
        throw error;
      }
    },
  };
}
