import type { Context, Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { readConfig, type SavedConfig } from './config-file.ts';
import { suggestion } from './nearest.ts';
import { type SettingName, settingNames, settingOrder } from './setting-names.ts';
import { parseSetting, type SettingValues, urlText } from './setting-values.ts';

/** The flags that carry settings, as commander names them. */
export type SettingFlags = { readonly [Name in SettingName]?: string } & { readonly profile?: string };

const defaults: { readonly [Name in SettingName]?: string } = {
  scope: 'event_api offline_access',
  redirectUri: 'http://127.0.0.1:8976/callback',
  store: 'keychain',
};

/** Settings resolved in the order flag, environment, profile, default. */
export interface Settings {
  /** The profile's name. */
  readonly profile: string;
  /** Whether anything is saved under that name. */
  readonly profileExists: boolean;
  get<Name extends SettingName>(name: Name): SettingValues[Name] | undefined;
  /** Values of settings a command cannot do without; throws one `UsageError` that names all that are missing. */
  require<Name extends SettingName>(...names: Name[]): Pick<SettingValues, Name>;
  /** Where the value came from: a flag, a variable, the profile or the default. */
  sourceOf(name: SettingName): string | undefined;
  /** The value as it was given. */
  textOf(name: SettingName): string | undefined;
}

export async function loadSettings(
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<Settings> {
  const config = await readConfig(context);
  const settings = resolveSettings(flags, context.environment, config);
  // A value that is wrong is worth more of a message than others that are missing.
  for (const name of settingOrder) settings.get(name);
  return settings;
}

export function resolveSettings(
  flags: SettingFlags,
  environment: Environment,
  config: SavedConfig,
): Settings {
  const profile = profileName(flags, environment, config);
  const saved = Object.hasOwn(config.profiles, profile) ? config.profiles[profile] : undefined;
  const namedProfile =
    flags.profile || environment['HOOKTRAIL_PROFILE'] ? unknownProfile(profile, config) : undefined;
  const found = new Map<SettingName, { text: string; source: string }>();
  for (const name of settingOrder) {
    const { key, flag, variable } = settingNames[name];
    const candidates = [
      { text: flags[name], source: flag },
      { text: environment[variable] || undefined, source: variable },
      { text: saved?.[key], source: `the profile '${profile}' (${key})` },
      { text: defaults[name], source: 'the default' },
    ];
    const first = candidates.find((candidate) => candidate.text !== undefined);
    if (first) found.set(name, first as { text: string; source: string });
  }
  const get = <Name extends SettingName>(name: Name): SettingValues[Name] | undefined => {
    const entry = found.get(name);
    if (entry) return parseSetting(name, entry.text, entry.source);
    // RFC 9207: the issuer is the identity provider's own address unless the user knows better.
    const authUrl = name === 'issuer' ? get('authUrl') : undefined;
    return authUrl && (urlText(authUrl) as SettingValues[Name]);
  };
  return {
    profile,
    profileExists: saved !== undefined,
    get,
    sourceOf: (name) => found.get(name)?.source,
    textOf: (name) => found.get(name)?.text,
    require(...names) {
      const values = Object.fromEntries(names.map((name) => [name, get(name)]));
      const missing = names.filter((name) => values[name] === undefined);
      if (missing.length > 0) throw missingSettings(missing, saved ? undefined : namedProfile);
      return values as Pick<SettingValues, (typeof names)[number]>;
    },
  };
}

function profileName(flags: SettingFlags, environment: Environment, config: SavedConfig): string {
  const [name, source] =
    flags.profile !== undefined
      ? [flags.profile, '--profile']
      : environment['HOOKTRAIL_PROFILE']
        ? [environment['HOOKTRAIL_PROFILE'], 'HOOKTRAIL_PROFILE']
        : [config.profile ?? 'default', 'the saved settings'];
  return checkProfileName(name, source);
}

/** A profile name is part of file names and keychain accounts. */
export function checkProfileName(name: string, source: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  throw new UsageError(
    `${source}: '${name}' is not accepted: up to 64 letters, digits, '.', '_' and '-', a letter or digit first`,
  );
}

/** `unknown` is the error for the profile that was named and does not exist. */
export function missingSettings(names: readonly SettingName[], unknown?: UsageError): UsageError {
  const lines = names.map((name) => {
    const { flag, variable, meaning } = settingNames[name];
    return `${flag} or ${variable}: ${meaning}`;
  });
  return new UsageError(`${names.length === 1 ? 'a setting is' : 'settings are'} missing`, {
    details: unknown ? [...lines, unknown.message, ...unknown.details] : lines,
    next: 'give them as flags or variables, or run `hooktrail login` once to save them',
  });
}

export function unknownProfile(name: string, config: SavedConfig): UsageError {
  const names = Object.keys(config.profiles);
  return new UsageError(`there is no profile '${name}'`, {
    details: names.length > 0 ? [`profiles: ${names.join(', ')}`] : [],
    next: suggestion(name, names) ?? 'run `hooktrail login --profile NAME` to make one',
  });
}
