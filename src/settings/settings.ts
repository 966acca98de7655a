import type { Context, Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type TimeZone, zoneOf } from '../time/time-zone.ts';
import { didYouMean } from './command-words.ts';
import { configPath, readConfig, type SavedConfig, type SavedProfile } from './config-file.ts';
import { type SettingName, settingDefaults, settingNames, settingOrder } from './setting-names.ts';
import { parseSetting, type SettingValues } from './setting-values.ts';

/** Settings whose flags only the commands that sign in have. */
const OF_SIGN_IN: ReadonlySet<SettingName> = new Set(['authUrl', 'clientId']);

/** The flags that carry settings, as commander names them. */
export type SettingFlags = { readonly [Name in SettingName]?: string } & { readonly profile?: string };

/** A setting as it was given, and the flag, variable, profile or default that it came from. */
export interface GivenSetting {
  readonly text: string;
  readonly source: string;
}

/** The profile that a run uses. */
export interface ChosenProfile {
  readonly profile: string;
  /** True where anything is saved under that name. */
  readonly profileExists: boolean;
}

/**
 * Settings in their final form, resolved in the order flag, environment, profile, default. `Needed` settings are always
 * present; others if they were given or have a default.
 */
export type Settings<Needed extends SettingName = never> = ChosenProfile & {
  readonly given: { readonly [Name in SettingName]?: GivenSetting };
} & Partial<SettingValues> &
  Pick<SettingValues, Needed | keyof typeof settingDefaults>;

/**
 * Resolves the settings of one run, including its profile's saved ones. Throws `UsageError` for an invalid value, or
 * else one that names every missing setting of `needed`.
 */
export async function loadSettings<Needed extends SettingName = never>(
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
  needed: readonly Needed[] = [],
): Promise<Settings<Needed>> {
  const config = await readConfig(context);
  return resolveSettings(flags, context.environment, config, needed, configPath(context));
}

export function resolveSettings<Needed extends SettingName = never>(
  flags: SettingFlags,
  environment: Environment,
  config: SavedConfig,
  needed: readonly Needed[] = [],
  file?: string,
): Settings<Needed> {
  const chosen = chooseProfile(flags, environment, config);
  const saved = chosen.profileExists ? config.profiles[chosen.profile] : undefined;
  const given: { [Name in SettingName]?: GivenSetting } = {};
  const values: Partial<Record<SettingName, SettingValues[SettingName]>> = {};
  for (const name of settingOrder) {
    const first = givenSetting(name, flags, environment, saved, chosen.profile);
    if (first === undefined) continue;
    given[name] = first;
    values[name] = parseSetting(name, first.text, first.source);
  }
  const missing = settingOrder.filter(
    (name) => needed.some((one) => one === name) && values[name] === undefined,
  );
  if (missing.length > 0) {
    const isNamed = flags.profile !== undefined || Boolean(environment['HOOKTRAIL_PROFILE']);
    throw isNamed && !chosen.profileExists
      ? unknownProfile(chosen.profile, config)
      : missingSettings(missing, file && `looked in the profile '${chosen.profile}' of ${file}`);
  }
  return { ...chosen, given, ...values } as Settings<Needed>;
}

function givenSetting(
  name: SettingName,
  flags: SettingFlags,
  environment: Environment,
  saved: SavedProfile | undefined,
  profile: string,
): GivenSetting | undefined {
  const { key, flag, variable } = settingNames[name];
  const candidates = [
    { text: flags[name], source: flag },
    { text: environment[variable] || undefined, source: variable },
    { text: saved?.[key], source: `the profile '${profile}' (${key})` },
    { text: (settingDefaults as SettingFlags)[name], source: 'the default' },
  ];
  return candidates.find((candidate): candidate is GivenSetting => candidate.text !== undefined);
}

/** Resolves one setting without checking the others; undefined if it is not given and has no default. Throws `UsageError`. */
export async function loadSetting<Name extends SettingName>(
  name: Name,
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<SettingValues[Name] | (Name extends keyof typeof settingDefaults ? never : undefined)> {
  const config = await readConfig(context);
  const { profile, profileExists } = chooseProfile(flags, context.environment, config);
  const saved = profileExists ? config.profiles[profile] : undefined;
  const given = givenSetting(name, flags, context.environment, saved, profile);
  return given ? parseSetting(name, given.text, given.source) : (undefined as never);
}

/**
 * The form of errors and warnings. It has to be known before anything can fail, so what is wrong with the settings is left
 * to the command to find.
 */
export async function errorFormatOf(
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<SettingValues['errorFormat']> {
  const asked = flags.errorFormat ?? (context.environment['HOOKTRAIL_ERROR_FORMAT'] || undefined);
  if (asked !== undefined) return asked === 'json' ? 'json' : 'text';
  try {
    const config = await readConfig(context);
    const { profile } = chooseProfile(flags, context.environment, config);
    return config.profiles[profile]?.['error-format'] === 'json' ? 'json' : 'text';
  } catch {
    return 'text';
  }
}

/** The profile that flag, variable or saved settings name; no other setting is looked at. */
export function chooseProfile(
  flags: Pick<SettingFlags, 'profile'>,
  environment: Environment,
  config: SavedConfig,
): ChosenProfile {
  const [name, source] =
    flags.profile !== undefined
      ? [flags.profile, '--profile']
      : environment['HOOKTRAIL_PROFILE']
        ? [environment['HOOKTRAIL_PROFILE'], 'HOOKTRAIL_PROFILE']
        : [config.profile ?? 'default', 'the saved settings'];
  const typed = checkProfileName(name, source);
  const profile = savedProfileName(typed, config) ?? typed;
  return { profile, profileExists: Object.hasOwn(config.profiles, profile) };
}

/**
 * The saved profile of that name, in any case of letters: files of `Prod` and `prod` would be one file on macOS and Windows.
 */
export function savedProfileName(name: string, { profiles }: SavedConfig): string | undefined {
  if (Object.hasOwn(profiles, name)) return name;
  return Object.keys(profiles).find((saved) => saved.toLowerCase() === name.toLowerCase());
}

/** A profile name is part of file names and keychain accounts. */
export function checkProfileName(name: string, source: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  throw new UsageError(
    `${source}: invalid value '${name}': must be up to 64 letters, digits, '.', '_' and '-', a letter or digit first`,
  );
}

/** Names every missing setting, and says where else it was looked for. */
export function missingSettings(names: readonly SettingName[], looked?: string): UsageError {
  const details = names.map((name) => {
    const { flag, variable, meaning } = settingNames[name];
    return `${flag}${looked && OF_SIGN_IN.has(name) ? ' (login)' : ''} or ${variable}: ${meaning}`;
  });
  if (looked) details.push(looked);
  return new UsageError(`${names.length === 1 ? 'a setting is' : 'settings are'} missing`, {
    details,
    next: 'give them as flags or variables, or run `hooktrail login` once to save them',
  });
}

export function unknownProfile(name: string, config: SavedConfig): UsageError {
  const names = Object.keys(config.profiles);
  return new UsageError(`there is no profile '${name}'`, {
    details: names.length > 0 ? [`profiles: ${names.join(', ')}`] : [],
    ...didYouMean(name, names, `run \`hooktrail login --profile ${name}\` to make one`),
  });
}

/** The zone that the settings ask for. Throws `UsageError`. */
export async function loadTimeZone(
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<TimeZone> {
  return zoneOf(await loadSetting('timezone', flags, context), context);
}
