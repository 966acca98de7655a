import { UsageError } from '../errors.ts';
import { zoneNamed, zoneNames } from '../time/zone-names.ts';
import { didYouMean } from './command-words.ts';
import type { SettingName } from './setting-names.ts';

/** The settings in their final form. */
export interface SettingValues {
  /** Identity provider; its path ends without a slash. */
  readonly authUrl: URL;
  /** Event service; its path ends without a slash. */
  readonly baseUrl: URL;
  readonly clientId: string;
  readonly vendor: string;
  /** Space-delimited. */
  readonly scope: string;
  readonly redirectUri: RedirectUri;
  /** The `iss` a redirect must carry (RFC 9207), or `none`: not checked. */
  readonly issuer: string;
  readonly store: 'keychain' | 'file';
  /** `UTC`, `local`, or a name of the IANA database. */
  readonly timezone: string;
  /** Columns of tables, as `--fields` takes them. */
  readonly fields: string;
  readonly errorFormat: 'text' | 'json';
}

/** Providers compare redirect URIs as texts (RFC 6749 section 3.1.2.3), and `URL` would add a slash or drop a port. */
export interface RedirectUri {
  /** The text as given, which is sent. */
  readonly text: string;
  readonly url: URL;
}

/**
 * Turns the text of a setting into its value. `source` is the flag, variable or file entry it came from, for the
 * message of the `UsageError` that bad text gets.
 */
export function parseSetting<Name extends SettingName>(
  name: Name,
  text: string,
  source: string,
): SettingValues[Name];
export function parseSetting(name: SettingName, text: string, source: string): SettingValues[SettingName] {
  const refuse = (accepted: string, meant: ReturnType<typeof didYouMean> = {}): never => {
    throw new UsageError(`${source}: invalid value '${withoutCredentials(text)}': must be ${accepted}`, {
      ...meant,
    });
  };
  switch (name) {
    case 'authUrl':
    case 'baseUrl':
      return serviceUrl(text, refuse);
    case 'redirectUri':
      return redirectUri(text, refuse);
    case 'vendor':
      // A token of RFC 6838 section 4.2, as the media type's vendor tree takes it.
      return /^[A-Za-z0-9][A-Za-z0-9!#$&^_.-]*$/.test(text)
        ? text
        : refuse('made of letters, digits and ! # $ & ^ _ . -');
    case 'store':
      if (text === 'keychain' || text === 'file') return text;
      return refuse('keychain or file', didYouMean(text, ['keychain', 'file']));
    case 'errorFormat':
      if (text === 'text' || text === 'json') return text;
      return refuse('text or json', didYouMean(text, ['text', 'json']));
    case 'fields':
      return text.split(',').every((path) => path.trim() !== '') ? text : refuse('names such as eventId,a.b');
    case 'timezone':
      return (
        zoneNamed(text) ??
        refuse('UTC, local or a name of the IANA database such as Europe/Berlin', zoneMeant(text))
      );
    case 'scope': {
      const scope = text.trim().split(/\s+/).join(' ');
      // RFC 6749 section 3.3.
      return /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scope)
        ? scope
        : refuse('one or more scopes, separated by spaces');
    }
    case 'issuer':
      if (text !== 'none' && !URL.canParse(text)) refuse("a URL, or 'none'");
      return text;
    case 'clientId':
      return /^[\x20-\x7e]+$/.test(text) ? text : refuse('printable ASCII characters');
  }
}

/** A city is often typed without its continent. */
function zoneMeant(text: string): ReturnType<typeof didYouMean> {
  const names = zoneNames();
  const city = text.trim().replaceAll(' ', '_').toLowerCase();
  const whole = names.find((name) => name.toLowerCase().endsWith(`/${city}`));
  if (whole === undefined) return didYouMean(text, names);
  return { next: `did you mean ${whole}?`, correction: { typed: text, meant: whole } };
}

/** RFC 8252 section 8.3 and the URL standard: names and addresses that a browser takes for this machine. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(host)
  );
}

function serviceUrl(text: string, refuse: (accepted: string) => never): URL {
  // Below `localhost` other programs than browsers ask a name server, which may send the client secret anywhere.
  const isHere = (url: URL) => isLoopback(url) && !url.hostname.endsWith('.localhost');
  const url = secureUrl(text, 'an https: URL', refuse, isHere);
  if (url.search || url.hash) return refuse('a URL without query and fragment');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

function redirectUri(text: string, refuse: (accepted: string) => never): RedirectUri {
  const url = secureUrl(text, 'a URL such as http://127.0.0.1:8976/callback', refuse);
  // RFC 6749 section 3.1.2.
  if (url.hash) return refuse('a URL without fragment');
  return { text, url };
}

/**
 * An address that secrets may be sent to: `https:`, or `http:` on a host of this machine, and without user name and
 * password. `accepted` describes valid values, for the error if the text is not a URL.
 */
export function secureUrl(
  text: string,
  accepted: string,
  refuse: (accepted: string) => never,
  isHere = isLoopback,
): URL {
  if (!URL.canParse(text)) return refuse(accepted);
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere(url)))
    return refuse('an https: URL (http: only for loopback hosts)');
  if (url.username || url.password) return refuse('a URL without user name and password');
  return url;
}

/** A refused address for a message, which may end up in a log or a ticket: passwords and keys in it are left out. */
export function withoutCredentials(text: string): string {
  return text.replace(/\/\/.*@/s, '//[redacted]@').replace(/\?[^#]+/s, '?[redacted]');
}

/** A URL without the slash that `URL` puts behind a bare origin: as people write it, and ready for a path behind it. */
export function urlText(url: URL): string {
  return url.href.replace(/\/$/, '');
}
