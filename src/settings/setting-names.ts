import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { zoneNamed, zoneNames } from '../time/time-zone.ts';
import { didYouMean } from './flag-values.ts';

/** Every setting with the names it has on the command line, in the environment and in messages. */
export const settingNames = {
  authUrl: {
    key: 'auth-url',
    flag: '--auth-url',
    variable: 'HOOKTRAIL_AUTH_URL',
    meaning: 'identity provider',
  },
  baseUrl: { key: 'base-url', flag: '--base-url', variable: 'HOOKTRAIL_BASE_URL', meaning: 'event service' },
  clientId: { key: 'client-id', flag: '--client-id', variable: 'HOOKTRAIL_CLIENT_ID', meaning: 'client id' },
  vendor: {
    key: 'vendor',
    flag: '--vendor',
    variable: 'HOOKTRAIL_VENDOR',
    meaning: 'vendor of the media type',
  },
  scope: { key: 'scope', flag: '--scope', variable: 'HOOKTRAIL_SCOPE', meaning: 'scopes' },
  redirectUri: {
    key: 'redirect-uri',
    flag: '--redirect-uri',
    variable: 'HOOKTRAIL_REDIRECT_URI',
    meaning: 'redirect URI',
  },
  issuer: { key: 'issuer', flag: '--issuer', variable: 'HOOKTRAIL_ISSUER', meaning: 'expected issuer' },
  timezone: {
    key: 'timezone',
    flag: '--timezone',
    variable: 'HOOKTRAIL_TIMEZONE',
    meaning: 'zone of times shown and typed',
  },
  fields: { key: 'fields', flag: '--fields', variable: 'HOOKTRAIL_FIELDS', meaning: 'columns of tables' },
  errorFormat: {
    key: 'error-format',
    flag: '--error-format',
    variable: 'HOOKTRAIL_ERROR_FORMAT',
    meaning: 'form of errors and warnings: text or json',
  },
  store: { key: 'store', flag: '--store', variable: 'HOOKTRAIL_STORE', meaning: 'where secrets live' },
} as const;

export type SettingName = keyof typeof settingNames;

export const settingOrder = Object.keys(settingNames) as SettingName[];

/** The defaults of settings. */
export const settingDefaults = {
  scope: 'event_api offline_access',
  redirectUri: 'http://127.0.0.1:8976/callback',
  store: 'keychain',
  timezone: 'UTC',
  errorFormat: 'text',
} as const satisfies { readonly [Name in SettingName]?: string };

/**
 * The setting that a key such as `base-url` names. Throws `UsageError` that suggests the nearest key, or says where
 * secrets belong.
 */
export function settingOfKey(key: string): SettingName {
  const name = settingOrder.find((candidate) => settingNames[candidate].key === key);
  if (name) return name;
  const keys = settingOrder.map((candidate) => settingNames[candidate].key);
  if (/secret|token|password|passphrase/i.test(key)) {
    throw new UsageError(`'${key}' is not saved in the settings: secrets never are`, {
      next: '`hooktrail login` puts them where secrets live',
    });
  }
  throw new UsageError(`there is no setting '${key}'`, {
    details: [`settings: ${keys.join(', ')}`],
    ...didYouMean(key, keys),
  });
}

/** The placeholder and the help text of each setting's flag. */
const flagTexts: { readonly [Name in SettingName]?: readonly [placeholder: string, text: string] } = {
  authUrl: ['url', 'the identity provider, where sign-in happens'],
  baseUrl: ['url', 'the event service'],
  clientId: ['id', 'the client id assigned to you'],
  vendor: ['name', 'the vendor of application/vnd.<vendor>.v1+json'],
  scope: ['scopes', `the scopes to ask for, separated by spaces (default: ${settingDefaults.scope})`],
  redirectUri: ['url', `where sign-in returns to (default: ${settingDefaults.redirectUri})`],
  issuer: ['url', "the issuer a redirect must name, or 'none' (default: the auth URL)"],
  timezone: [
    'zone',
    `show and read times in this zone: UTC, local, Europe/Berlin (default: ${settingDefaults.timezone})`,
  ],
  store: ['where', `where secrets live: keychain or file (default: ${settingDefaults.store})`],
};

/** Flags that say who signs in and where the result is kept. */
export function addIdentityFlags(command: Command): Command {
  return add(command, ['authUrl', 'clientId', 'scope', 'redirectUri', 'issuer', 'store']);
}

/** Flags that say which event service is asked. */
export function addServiceFlags(command: Command): Command {
  return add(command, ['baseUrl', 'vendor']);
}

/** The flag that names the zone of times. */
export function addTimezoneFlag(command: Command): Command {
  return add(command, ['timezone']);
}

/** The heading of the flags below, which help shows in one line. */
export const CONNECTION = 'Connection:';

/** Flags that override, for one call, which service is asked; `doctor` also checks another identity provider. */
export function addConnectionFlags(
  command: Command,
  names: readonly SettingName[] = ['baseUrl', 'vendor'],
): Command {
  return add(command, names, CONNECTION);
}

function add(command: Command, names: readonly SettingName[], group?: string): Command {
  for (const name of names) {
    const [placeholder, text] = flagTexts[name] as readonly [string, string];
    const { flag, variable } = settingNames[name];
    const option = command.createOption(`${flag} <${placeholder}>`, `${text} [${variable}]`);
    command.addOption(group ? option.helpGroup(group) : option);
  }
  return command;
}

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
