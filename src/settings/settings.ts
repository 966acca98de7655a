import path from 'node:path';
import { type Advice, advise, hooktrail } from '../advice.ts';
import { agentVariable } from '../agent-mode.ts';
import type { Context, Environment } from '../context.ts';
import { faultText, ServiceError, UsageError } from '../errors.ts';
import { configFolder, makeFolder, refusePlanted } from '../files/folders.ts';
import { followLinks, readRegularFile, replaceFile, UnsyncedError } from '../files/whole-files.ts';
import type { HeldLock } from '../lock/lock.ts';
import { type TimeZone, zoneOf } from '../time/time-zone.ts';
import { didYouMean } from './nearest-word.ts';
import {
  parseSetting,
  type SettingName,
  type SettingValues,
  settingDefaults,
  settingNames,
  settingOrder,
  withoutQuotes,
} from './setting-names.ts';

type Place = Pick<Context, 'environment' | 'machine'>;

/** Settings with flags only in the commands that sign in. */
const OF_SIGN_IN: ReadonlySet<SettingName> = new Set(['authUrl', 'clientId']);

export type SettingFlags = { readonly [Name in SettingName]?: string } & { readonly profile?: string };

export interface GivenSetting {
  readonly text: string;
  readonly source: string;
}

export interface ChosenProfile {
  readonly profile: string;
  readonly profileExists: boolean;
}

/**
 * Final settings, resolved in the order flag, environment, profile, default. `Needed` settings are always
 * present; others if they were given or have a default.
 */
export type Settings<Needed extends SettingName = never> = ChosenProfile & {
  readonly given: { readonly [Name in SettingName]?: GivenSetting };
} & Partial<SettingValues> &
  Pick<SettingValues, Needed | keyof typeof settingDefaults>;

const DEFAULT_SOURCE = 'the default';

/**
 * The settings of one run, read when it begins. Unneeded ones may be invalid: reading an invalid one throws
 * `UsageError`.
 */
export class RunSettings {
  readonly #flags: SettingFlags;
  readonly #context: Place;
  readonly #config: SavedConfig | UsageError;

  /** `config`: the error if the saved settings cannot be read. */
  constructor(flags: SettingFlags, context: Place, config: SavedConfig | UsageError) {
    this.#flags = flags;
    this.#context = context;
    this.#config = config;
  }

  /** Available even if other settings are invalid. */
  get chosen(): ChosenProfile {
    return chooseProfile(this.#flags, this.#context.environment, this.#saved);
  }

  get zone(): TimeZone {
    return zoneOf(this.#value('timezone') ?? settingDefaults.timezone, this.#context);
  }

  /** The marketplaces that events are limited to: none for `all`, undefined if not set. */
  get marketplaces(): readonly string[] | undefined {
    const text = this.#value('marketplace');
    return text === 'all' ? [] : text?.split(',');
  }

  get fields(): GivenSetting | undefined {
    return this.#typed('fields');
  }

  get nameField(): GivenSetting | undefined {
    return this.#typed('nameField');
  }

  /** Never throws, since every error needs it: an invalid one means text, and the command reports it. */
  get errorFormat(): SettingValues['errorFormat'] {
    const asked = this.#flags.errorFormat || this.#context.environment['HOOKTRAIL_ERROR_FORMAT'];
    try {
      // Unreadable settings do not matter then.
      if (asked) return parseSetting('errorFormat', asked, '');
      const given = this.#given('errorFormat');
      if (given && given.source !== DEFAULT_SOURCE)
        return parseSetting('errorFormat', given.text, given.source);
      return agentVariable(this.#context.environment) ? 'json' : settingDefaults.errorFormat;
    } catch {
      return settingDefaults.errorFormat;
    }
  }

  /**
   * Returns all settings in their final form. Throws `UsageError` for an invalid value, or else one that
   * names every missing setting of `needed`.
   */
  checked<Needed extends SettingName = never>(needed: readonly Needed[] = []): Settings<Needed> {
    const { environment } = this.#context;
    return resolveSettings(this.#flags, environment, this.#saved, needed, configPath(this.#context));
  }

  with(answers: SettingFlags): RunSettings {
    return new RunSettings({ ...this.#flags, ...answers }, this.#context, this.#config);
  }

  get #saved(): SavedConfig {
    if (this.#config instanceof UsageError) throw this.#config;
    return this.#config;
  }

  #given(name: SettingName): GivenSetting | undefined {
    return givenSetting(name, this.#flags, this.#context.environment, this.#saved, this.chosen);
  }

  #value<Name extends SettingName>(name: Name): SettingValues[Name] | undefined {
    const given = this.#given(name);
    return given && parseSetting(name, given.text, given.source);
  }

  #typed(name: SettingName): GivenSetting | undefined {
    const given = this.#given(name);
    return given && { ...given, text: withoutQuotes(given.text) };
  }
}

/** Reads the saved settings. Faults in them are thrown when they are needed. */
export async function loadRunSettings(flags: SettingFlags, context: Place): Promise<RunSettings> {
  try {
    return new RunSettings(flags, context, await readConfig(context));
  } catch (error) {
    if (error instanceof UsageError) return new RunSettings(flags, context, error);
    throw error;
  }
}

export function resolveSettings<Needed extends SettingName = never>(
  flags: SettingFlags,
  environment: Environment,
  config: SavedConfig,
  needed: readonly Needed[] = [],
  file?: string,
): Settings<Needed> {
  const chosen = chooseProfile(flags, environment, config);
  const given: { [Name in SettingName]?: GivenSetting } = {};
  const values: Partial<Record<SettingName, SettingValues[SettingName]>> = {};
  for (const name of settingOrder) {
    const first = givenSetting(name, flags, environment, config, chosen);
    if (first === undefined) continue;
    const value = parseSetting(name, first.text, first.source);
    given[name] = { ...first, text: savedText(first.text, value) };
    values[name] = value;
  }
  const wanted: readonly SettingName[] = needed;
  const missing = settingOrder.filter((name) => wanted.includes(name) && values[name] === undefined);
  if (missing.length > 0) {
    const isNamed = flags.profile !== undefined || Boolean(environment['HOOKTRAIL_PROFILE']);
    const [other] = chosen.profileExists ? [] : Object.keys(config.profiles);
    const token = environment['HOOKTRAIL_ACCESS_TOKEN'] === '' ? '; HOOKTRAIL_ACCESS_TOKEN is empty' : '';
    const looked = file && `looked in the profile '${chosen.profile}' of ${file}${token}`;
    if (isNamed && !chosen.profileExists) throw unknownProfile(chosen.profile, config);
    throw missingSettings(missing, looked, other);
  }
  return { ...chosen, given, ...values } as Settings<Needed>;
}

/** Returns the text to save for a setting: its value, or an address as typed. */
export function savedText(text: string, value: SettingValues[SettingName]): string {
  return typeof value === 'string' ? value : withoutQuotes(text);
}

function givenSetting(
  name: SettingName,
  flags: SettingFlags,
  environment: Environment,
  { profiles }: SavedConfig,
  { profile, profileExists }: ChosenProfile,
): GivenSetting | undefined {
  const { key, flag, variable } = settingNames[name];
  const saved = profileExists ? profiles[profile] : undefined;
  const typed: unknown = flags[name];
  const candidates = [
    // `subscriptions create --marketplace` takes a list: it is not the setting.
    { text: typeof typed === 'string' ? typed : undefined, source: flag },
    { text: environment[variable] || undefined, source: variable },
    { text: saved?.[key], source: `the profile '${profile}' (${key})` },
    { text: (settingDefaults as SettingFlags)[name], source: DEFAULT_SOURCE },
  ];
  return candidates.find((candidate): candidate is GivenSetting => candidate.text !== undefined);
}

/**
 * Returns the profile, if saved, and the service's host: `profile night at events.example.com`. Empty if
 * neither is known.
 */
export function serviceText({ profile, profileExists, baseUrl }: Settings): string {
  const named = profileExists ? [`profile ${profile}`] : [];
  return [...named, ...(baseUrl ? [baseUrl.host] : [])].join(' at ');
}

/**
 * Returns the profile chosen by flag, variable or saved settings, without checking other settings. Throws
 * `UsageError`.
 */
export function chooseProfile(
  flags: Pick<SettingFlags, 'profile'>,
  environment: Environment,
  config: SavedConfig,
): ChosenProfile {
  const candidates = [
    [flags.profile?.trim(), '--profile'],
    [environment['HOOKTRAIL_PROFILE'] || undefined, 'HOOKTRAIL_PROFILE'],
    [config.profile ?? 'default', 'the saved settings'],
  ] as const;
  const [typed = '', source] = candidates.find(([name]) => name !== undefined) ?? [];
  // Profile names occur in file names and keychain accounts.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(typed))
    throw new UsageError(
      `${source}: invalid value '${typed}': must be up to 64 letters, digits, '.', '_' and '-', a letter or digit first`,
    );
  const profile = savedProfileName(typed, config) ?? typed;
  return { profile, profileExists: Object.hasOwn(config.profiles, profile) };
}

/**
 * Finds a saved profile, ignoring case: files of `Prod` and `prod` would be the same on macOS and Windows.
 */
export function savedProfileName(name: string, { profiles }: SavedConfig): string | undefined {
  if (Object.hasOwn(profiles, name)) return name;
  return Object.keys(profiles).find((saved) => saved.toLowerCase() === name.toLowerCase());
}

/** Names every missing setting, where else it was looked for, and a profile that may have them. */
export function missingSettings(names: readonly SettingName[], looked?: string, other?: string): UsageError {
  const details = names.map((name) => {
    const { flag, variable, meaning } = settingNames[name];
    return `${flag}${looked && OF_SIGN_IN.has(name) ? ' (login)' : ''} or ${variable}: ${meaning}`;
  });
  if (looked) details.push(looked);
  return new UsageError(`${names.length === 1 ? 'a setting is' : 'settings are'} missing`, {
    details,
    next: other
      ? advise`give them as flags or variables, or run ${hooktrail('profiles use', other)}`
      : advise`give them as flags or variables, or run ${hooktrail('login')} once to save them`,
  });
}

export function unknownProfile(name: string, { profiles }: SavedConfig, next?: Advice): UsageError {
  const names = Object.keys(profiles);
  return new UsageError(`there is no profile '${name}'`, {
    details: names.length > 0 ? [`profiles: ${names.join(', ')}`] : [],
    ...didYouMean(name, names, next ?? advise`run ${hooktrail('login --profile', name)} to make one`),
  });
}

/** Texts by setting key (`auth-url`), never secrets. */
export type SavedProfile = Record<string, string>;

export interface SavedConfig {
  version: 1;
  profile?: string;
  profiles: Record<string, SavedProfile>;
}

export function configPath(context: Place): string {
  return path.join(configFolder(context), 'config.json');
}

/** Reads the saved settings, which may be empty. Throws `UsageError` if the file is not ours. */
export async function readConfig(context: Place): Promise<SavedConfig> {
  const file = configPath(context);
  refusePlanted(file, 'the settings', context.machine);
  let text: string;
  try {
    text = readRegularFile(file)
      .toString()
      .replace(/^\ufeff/, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, profiles: {} };
    throw new UsageError(`the settings in ${file} cannot be read: ${faultText(error)}`, {
      next: 'make it a file that this user can read, or choose another folder with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
  return checkConfig(text, file);
}

/**
 * Changes the saved settings atomically, one process at a time. An interrupt has to wait: the secrets of a
 * sign-in must remain findable.
 */
export async function changeConfig(
  { environment, machine, clock, lockRhythm }: Place & Pick<Context, 'clock' | 'lockRhythm'>,
  change: (config: SavedConfig) => void,
): Promise<void> {
  const { withLock } = await import('../lock/lock.ts');
  const file = configPath({ environment, machine });
  // A link, as made by dotfile managers, stays; `readConfig` refuses one planted by others.
  const real = await followLinks(file);
  const { signal } = new AbortController();
  const surroundings = { machine, clock, signal, ...(lockRhythm ? { lockRhythm } : {}) };
  const work = async (lock: HeldLock) => {
    const config = await readConfig({ environment, machine });
    change(config);
    if (!(await lock.isStillHeld()))
      throw new ServiceError('another process changed the settings meanwhile', {
        next: 'run the command again',
      });
    try {
      makeFolder(path.dirname(real));
      await replaceFile(real, `${JSON.stringify(config, null, 2)}\n`);
    } catch (error) {
      if (error instanceof UnsyncedError) {
        const message = `the settings are saved in ${file}, but a loss of power could undo that: ${error.message}`;
        throw new ServiceError(message, { next: 'check the disk', cause: error });
      }
      throw new UsageError(`the settings cannot be written to ${file}: ${faultText(error)}`, {
        next: 'make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR',
        cause: error,
      });
    }
  };
  const folder = path.join(path.dirname(file), 'locks', 'settings');
  const options = { patience: 30_000, subject: 'the saved settings', folder };
  await withLock(`settings ${real}`, surroundings, work, options);
}

function checkConfig(text: string, file: string): SavedConfig {
  const broken = (what: string) =>
    new UsageError(`the settings in ${file} are damaged: ${what}`, {
      next: 'repair the file, or remove it and sign in again',
    });
  let value: SavedConfig;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken((error as Error).message);
  }
  if (value === null || typeof value !== 'object' || value.version !== 1)
    throw broken('not a version 1 configuration');
  if (value.profile !== undefined && typeof value.profile !== 'string')
    throw broken('the name of its profile is not a text');
  const profiles = Object.entries(value.profiles ?? {});
  const flat = (profile: unknown) =>
    profile !== null &&
    typeof profile === 'object' &&
    Object.values(profile).every((text) => typeof text === 'string');
  if (!profiles.every(([, profile]) => flat(profile))) throw broken('a profile is not a map of texts');
  return { ...value, profiles: Object.fromEntries(profiles) };
}
