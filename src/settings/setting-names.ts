import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import { trimValue } from '../context.ts';
import { type ErrorParts, UsageError } from '../errors.ts';
import { zoneNamed, zoneNames } from '../time/time-zone.ts';
import { CONNECTION } from './flag-values.ts';
import { Flag } from './flags.ts';
import { didYouMean } from './nearest-word.ts';

export const settingDefaults = {
  scope: 'event_api offline_access',
  redirectUri: 'http://127.0.0.1:8976/callback',
  store: 'keychain',
  timezone: 'UTC',
  errorFormat: 'text',
} as const;

export const settingNames = {
  authUrl: setting('auth-url', 'identity provider', serviceUrl),
  baseUrl: setting('base-url', 'event service', serviceUrl),
  clientId: setting('client-id', 'client id', clientId),
  vendor: setting('vendor', 'vendor of the media type', vendorName),
  scope: setting('scope', 'scopes', scopeList),
  redirectUri: setting('redirect-uri', 'redirect URI', redirectUri),
  /** The `iss` required in a redirect (RFC 9207), or `none` to skip the check. */
  issuer: setting('issuer', 'expected issuer', issuer),
  timezone: setting('timezone', 'zone of times shown and typed', timezone),
  fields: setting('fields', 'columns of tables', String),
  nameField: setting('name-field', 'field that names who an event is for', String),
  marketplace: setting('marketplace', 'marketplace that events are kept to', marketplaceIds),
  errorFormat: setting('error-format', 'form of errors and warnings: text or json', either('text', 'json')),
  store: setting('store', 'where secrets live', either('keychain', 'file')),
  /** The passphrase or key is its first line. */
  passphraseFile: setting(
    'passphrase-file',
    'file with the passphrase or key of the encrypted store',
    String,
  ),
};

export type SettingName = keyof typeof settingNames;
export const settingOrder = Object.keys(settingNames) as SettingName[];

export type SettingValues = {
  readonly [Name in SettingName]: ReturnType<(typeof settingNames)[Name]['parse']>;
};

export type Refuse = (accepted: string, meant?: Pick<ErrorParts, 'next' | 'correction'>) => never;

interface Setting<Value> {
  readonly key: string;
  readonly flag: string;
  readonly variable: string;
  readonly meaning: string;
  readonly parse: (text: string, refuse: Refuse) => Value;
}

function setting<Value>(key: string, meaning: string, parse: Setting<Value>['parse']): Setting<Value> {
  const variable = `HOOKTRAIL_${key.toUpperCase().replaceAll('-', '_')}`;
  return { key, flag: `--${key}`, variable, meaning, parse };
}

/** Parses a setting. `source`: the flag, variable or file entry of the text, for the `UsageError`. */
export function parseSetting<Name extends SettingName>(
  name: Name,
  text: string,
  source: string,
): SettingValues[Name] {
  return settingNames[name].parse(withoutQuotes(text), (wanted, meant) => {
    throw new UsageError(`${source}: invalid value '${withoutCredentials(text)}': must be ${wanted}`, meant);
  }) as SettingValues[Name];
}

/** Also strips the `<>` with which people paste addresses. */
export function withoutQuotes(text: string): string {
  return trimValue(text).replace(/^<(.*)>$/s, '$1');
}

/**
 * Providers compare redirect URIs as texts (RFC 6749 section 3.1.2.3), and `URL` would add a slash or drop a
 * port.
 */
export interface RedirectUri {
  readonly text: string;
  readonly url: URL;
}

/**
 * Returns the setting for a key such as `base-url`. Throws `UsageError` that suggests the nearest key, or the
 * place for a secret.
 */
export function settingOfKey(key: string): SettingName {
  const name = settingOrder.find((candidate) => settingNames[candidate].key === key);
  if (name) return name;
  const keys = settingOrder.map((candidate) => settingNames[candidate].key);
  if (/passphrase/i.test(key))
    throw new UsageError(`'${key}' is not saved in the settings: secrets never are`, {
      next: advise`${hooktrail('config set passphrase-file PATH')} saves which file has it`,
    });
  if (/secret|token|password/i.test(key))
    throw new UsageError(`'${key}' is not saved in the settings: secrets never are`, {
      next: advise`${hooktrail('login')} puts them where secrets live`,
    });
  const synonyms = new Map(Object.entries({ columns: 'fields', tz: 'timezone', url: 'base-url' }));
  throw new UsageError(`there is no setting '${key}'`, {
    details: [`settings: ${keys.join(', ')}`],
    ...didYouMean(key, keys, undefined, synonyms.get(key)),
  });
}

/** Adds the flags of `login`: who signs in, where the result is stored, and for which event service. */
export function addSignInFlags(command: Command): Command {
  return add(command, [
    'authUrl',
    'clientId',
    'scope',
    'redirectUri',
    'issuer',
    'store',
    'baseUrl',
    'vendor',
  ]);
}

export function addTimezoneFlag(command: Command): Command {
  return add(command, ['timezone']);
}

export function addMarketplaceFlag(command: Command, group: string): Command {
  return add(command, ['marketplace'], group);
}

/** Adds flags that override the service for one call; `doctor` also checks another identity provider. */
export function addConnectionFlags(
  command: Command,
  names: readonly SettingName[] = ['baseUrl', 'vendor'],
): Command {
  return add(command, names, CONNECTION);
}

function add(command: Command, names: readonly SettingName[], group?: string): Command {
  for (const name of names) {
    const [placeholder, text, preset] = flagTexts[name] as FlagText;
    const { flag, variable } = settingNames[name];
    const option = new Flag(`${flag} <${placeholder}>`, text, { preset, variables: [variable] });
    command.addOption(group ? option.helpGroup(group) : option);
  }
  return command;
}

type FlagText = readonly [placeholder: string, text: string, preset?: string];

const flagTexts: { readonly [Name in SettingName]?: FlagText } = {
  authUrl: ['url', 'the identity provider, where sign-in happens'],
  baseUrl: ['url', 'the event service'],
  clientId: ['id', 'the client id assigned to you'],
  vendor: ['name', 'the vendor of application/vnd.<vendor>.v1+json'],
  scope: ['scopes', 'the scopes to ask for, separated by spaces', settingDefaults.scope],
  redirectUri: ['url', 'where sign-in returns to', settingDefaults.redirectUri],
  issuer: ['url', "the issuer a redirect must name, or 'none'", 'the auth URL'],
  marketplace: ['id', 'of this marketplace, or of several with commas; all: of any; hooktrail filters by it'],
  timezone: ['zone', 'show and read times in this zone: UTC, local, Europe/Berlin', settingDefaults.timezone],
  store: ['where', 'where secrets live: keychain or file', settingDefaults.store],
};

/**
 * True for a loopback host: 127.0.0.0/8, `::1`, or `localhost`, which connects only to loopback addresses.
 */
export function isLoopback({ hostname }: URL): boolean {
  return /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname);
}

/** Browsers treat such a name as this machine, but a resolver may answer with another one. */
export function isBelowLocalhost({ hostname }: URL): boolean {
  return /(?:^|\.)localhost\.?$/.test(hostname) && hostname !== 'localhost';
}

/**
 * Parses an address that secrets may be sent to: `https:`, or `http:` on a loopback host, without user name
 * and password. `accepted`: valid values, for the error if the text is not a URL.
 */
export function secureUrl(text: string, accepted: string, refuse: Refuse): URL {
  if (!URL.canParse(text)) return refuse(accepted, schemeMeant(text));
  const url = new URL(text);
  if (isBelowLocalhost(url))
    return refuse('a URL of localhost itself: a name below it may lead to another machine');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url)))
    return refuse('an https: URL (http: only for loopback hosts)', schemeMeant(text));
  if (url.username || url.password) return refuse('a URL without user name and password');
  return url;
}

/** Adds a missing scheme to an address; undefined if it has one, or is not an address of a service. */
export function withScheme(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return undefined;
  // A name alone is more likely a mistake.
  if (!/^[^/]*[.:]|^localhost\b/.test(text) || !URL.canParse(`https://${text}`)) return undefined;
  const url = new URL(`https://${text}`);
  if (url.username || url.password || url.search) return undefined;
  return `${isLoopback(url) ? 'http' : 'https'}://${text}`;
}

function schemeMeant(text: string): ReturnType<typeof didYouMean> {
  return didYouMean(text, [], undefined, withScheme(text));
}

/** Redacts passwords and keys in a rejected address, since the message may end up in a log or a ticket. */
export function withoutCredentials(text: string): string {
  const end = text.lastIndexOf('@');
  const slashes = text.indexOf('//') + 2;
  const start = slashes >= 2 && slashes <= end ? slashes : 0;
  const bare = end === -1 ? text : `${text.slice(0, start)}[redacted]${text.slice(end)}`;
  return bare.replace(/\?[^#]+/s, '?[redacted]');
}

/** Returns a URL without the slash that `URL` appends to a bare origin, ready for appending a path. */
export function urlText(url: URL): string {
  return url.href.replace(/\/$/, '');
}

const SYNONYMS: Readonly<Record<string, string>> = { keyring: 'keychain', encrypted: 'file', disk: 'file' };

function either<Word extends string>(...words: readonly Word[]): (text: string, refuse: Refuse) => Word {
  const meant = (text: string) => words.find((word) => word === SYNONYMS[text.toLowerCase()]);
  return (text, refuse) =>
    words.find((word) => word === text.toLowerCase()) ??
    refuse(words.join(' or '), didYouMean(text, words, undefined, meant(text)));
}

function clientId(text: string, refuse: Refuse): string {
  return /^[\x20-\x7e]+$/.test(text) ? text : refuse('printable ASCII characters');
}

function vendorName(given: string, refuse: Refuse): string {
  // People are often given the whole media type, whose vendor is a token of RFC 6838 section 4.2.
  const text = given.replace(/^(?:application\/)?vnd\.(.+)\.v\d+\+json$/i, '$1');
  const isToken = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.-]*$/.test(text);
  return isToken ? text : refuse('made of letters, digits and ! # $ & ^ _ . -');
}

function marketplaceIds(text: string, refuse: Refuse): string {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.includes('')) return refuse('the id of a marketplace, or several with commas between them');
  return text.toLowerCase() === 'all' ? 'all' : [...new Set(ids)].join(',');
}

function scopeList(text: string, refuse: Refuse): string {
  const scope = text.trim().split(/\s+/).join(' ');
  // RFC 6749 section 3.3.
  const isList = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scope);
  return isList ? scope : refuse('one or more scopes, separated by spaces');
}

function issuer(text: string, refuse: Refuse): string {
  if (text.toLowerCase() === 'none') return 'none';
  return URL.canParse(text) ? text : refuse("a URL, or 'none'", schemeMeant(text));
}

function timezone(text: string, refuse: Refuse): string {
  const accepted = 'UTC, local or a name of the IANA database such as Europe/Berlin';
  return zoneNamed(text) ?? refuse(accepted, zoneMeant(text));
}

/** A city is often typed without its continent. */
function zoneMeant(text: string): ReturnType<typeof didYouMean> {
  const names = zoneNames();
  const city = text.trim().replaceAll(' ', '_').toLowerCase();
  const whole = names.find((name) => name.toLowerCase().endsWith(`/${city}`));
  return didYouMean(text, names, undefined, whole);
}

/** People copy the address of an endpoint, or of the provider's metadata. */
const ENDPOINT =
  /\/(connect\/(authorize|token|userinfo)|integrator-events|event-types)\/?([?#].*)?$|\/\.well-known\/[\w-]+/s;

function serviceUrl(text: string, refuse: Refuse): URL {
  const address = text.replace(ENDPOINT, '');
  if (address !== text)
    return refuse('an address without the path of an endpoint', didYouMean(text, [], '', address));
  const url = secureUrl(text, 'an https: URL', refuse);
  if (url.search || url.hash) return refuse('a URL without query and fragment');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

function redirectUri(text: string, refuse: Refuse): RedirectUri {
  const url = secureUrl(text, 'a URL such as http://127.0.0.1:8976/callback', refuse);
  // RFC 6749 section 3.1.2.
  if (url.hash) return refuse('a URL without fragment');
  return { text, url };
}
