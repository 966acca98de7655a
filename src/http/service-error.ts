import { STATUS_CODES } from 'node:http';
import { NotSignedInError, ServiceError } from '../errors.ts';
import { withoutSecrets } from './redaction.ts';
import { RETRIED } from './retry.ts';
import type { HttpResponse } from './transport.ts';

const MAX_TEXT = 2000;
const SIGN_IN_AGAIN =
  'run `hooktrail login` to sign in again; where HOOKTRAIL_ACCESS_TOKEN is set, put a valid token there';

/**
 * The error for an unsuccessful answer, with the text of its body: the service's Error object (service description,
 * part 2), problem details (RFC 9457), OAuth errors (RFC 6749 section 5.2) or plain text. `ifNotFound` is the next step
 * after 404.
 */
export function serviceError(
  response: HttpResponse,
  what: string,
  ifNotFound = 'check --base-url (HOOKTRAIL_BASE_URL)',
): ServiceError | NotSignedInError {
  const { status } = response;
  const details = describeBody(response);
  const message = `${what}: the service answered ${status}${reasonOf(status)}`;
  if (status === 401) {
    return new NotSignedInError(message, {
      details,
      next: SIGN_IN_AGAIN,
      status,
      errorObject: parsed(response.body.toString('utf8')),
    });
  }
  return new ServiceError(message, {
    details,
    next: status === 404 ? ifNotFound : nextStep(response),
    status,
    retryable: RETRIED.has(status),
    errorObject: parsed(response.body.toString('utf8')),
  });
}

/** The body of an error as lines for a person; no lines if it is empty. */
export function describeBody({ body, headers }: Pick<HttpResponse, 'body' | 'headers'>): string[] {
  const text = body.toString('utf8').trim();
  if (text === '') return [];
  const value = parsed(text);
  if (value !== undefined) {
    const lines = Object.entries(value).flatMap(([name, member]) => describeMember(name, member));
    if (lines.length > 0) return lines;
  }
  const type = headers['content-type'] ?? '';
  if (/html/i.test(type)) {
    const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim();
    return [title ? `an HTML page: ${title}` : 'an HTML page'];
  }
  return [text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text];
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function describeMember(name: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [`${name}: ${limited(String(value))}`];
  const entries = Array.isArray(value)
    ? value.map((entry) => ['-', entry])
    : Object.entries(value).map(([key, entry]) => [`${key}:`, entry]);
  if (entries.length === 0) return [];
  const lines = entries.map(([mark, entry]) => {
    const shown = typeof entry === 'string' ? entry : JSON.stringify(entry);
    return `  ${mark} ${limited(shown)}`;
  });
  return [`${name}:`, ...lines];
}

function limited(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

function nextStep({ status, headers }: HttpResponse): string | undefined {
  if (status === 403) return 'check that the sign-in has the scope event_api: `hooktrail status`';
  if (status === 406) return 'check --vendor (HOOKTRAIL_VENDOR): it names the media type that is asked for';
  const wait = headers['retry-after'];
  const time = wait === undefined ? 'later' : `after ${/^\d+$/.test(wait) ? `${wait} s` : wait}`;
  if (status === 429) return `try again ${time}, or with --concurrency 1`;
  if (status >= 300 && status < 400) {
    const target = headers.location;
    const moved = target ? `; check --base-url: it redirects to ${withoutSecrets(target)}` : '';
    return `redirects are not followed with the token${moved}`;
  }
  return status >= 500 ? `try again ${time}` : undefined;
}

function reasonOf(status: number): string {
  const reason = STATUS_CODES[status];
  return reason ? ` ${reason}` : '';
}
