import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { givenSecret } from '../secrets/given-secret.ts';
import { openVault } from '../secrets/open-vault.ts';
import type { Vault } from '../secrets/vault.ts';
import { type SettingName, settingNames } from '../settings/setting-names.ts';
import { parseSetting } from '../settings/setting-values.ts';
import { loadSettings, missingSettings, type SettingFlags, type Settings } from '../settings/settings.ts';
import { canPrompt, type Lines, promptSecret, promptText } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { BOUND, type BoundSettings, bindingOf, savedSettings } from './bound-settings.ts';

export interface SignInFlags extends SettingFlags {
  readonly clientSecretStdin?: boolean;
  /** True to change the addresses of a signed-in profile without asking. */
  readonly replace?: boolean;
}

/** Everything that a sign-in needs before it opens the browser. */
export interface SignInSetup {
  readonly settings: Settings<(typeof NEEDED)[number]>;
  readonly clientSecret: string;
  /** A store that was checked to accept secrets. */
  readonly vault: Vault;
  /** The settings that the user typed when asked. */
  readonly typed: SettingFlags;
}

const NEEDED = ['authUrl', 'baseUrl', 'clientId', 'vendor'] as const;

/**
 * Resolves the settings, asks on a terminal for those that are missing, probes the store and finds the client secret.
 * Throws one `UsageError` naming everything that is missing, or the store's own error if it is unusable.
 */
export async function prepareSignIn(
  flags: SignInFlags,
  context: Context,
  lines: Lines,
  reporter: Reporter,
): Promise<SignInSetup> {
  const asks = canPrompt(context);
  let given = await givenClientSecret(flags, context, lines);
  const known = await loadSettings(flags, context);
  const missing = NEEDED.filter((name) => known[name] === undefined);
  if (missing.length > 0 && !asks) throw incomplete(missing, given === undefined);
  const typed = await ask(missing, context);
  const settings = await loadSettings({ ...flags, ...typed }, context, NEEDED);
  if (!flags.replace) await confirmReplacement(settings, context, reporter);
  const vault = await openVault(settings.store, bindingOf(settings), context);
  await vault.probe(true);
  given ??= (await vault.read())?.clientSecret;
  if (given === undefined && asks) given = await promptSecret('Client secret', context);
  if (given === undefined) throw incomplete([], true);
  return { settings, clientSecret: given, vault, typed };
}

/**
 * Asks before a sign-in replaces one at other addresses, which could no longer be found. Throws `UsageError` without a
 * terminal, or if the answer is no.
 */
async function confirmReplacement(
  settings: BoundSettings,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { profile } = settings;
  const saved = await savedSettings(profile, context);
  if (!saved) return;
  const changes = BOUND.filter((name) => String(saved[name]) !== String(settings[name]));
  if (changes.length === 0) return;
  const { hasSignIn } = await import('../secrets/stored-sign-ins.ts');
  if (!(await hasSignIn(saved.store, bindingOf(saved), context))) return;
  const details = changes.map(
    (name) => `${settingNames[name].meaning}: ${String(saved[name])}, would become ${String(settings[name])}`,
  );
  const refused = new UsageError(`the profile '${profile}' is signed in elsewhere`, {
    details,
    next: 'choose another profile with --profile NAME, or replace this one with --replace',
  });
  if (!canPrompt(context)) throw refused;
  reporter.say(`The profile '${profile}' is signed in elsewhere:`);
  for (const line of details) reporter.say(`  ${line}`);
  const check = (text: string) => (/^(y|yes|n|no)$/i.test(text) ? undefined : 'answer yes or no');
  if (!/^y/i.test(await promptText('Replace its sign-in? (yes or no)', context, check))) throw refused;
}

async function givenClientSecret(
  { clientSecretStdin }: SignInFlags,
  context: Context,
  lines: Lines,
): Promise<string | undefined> {
  if (!clientSecretStdin) return await givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
  // On a terminal the line would be visible while it is typed.
  if (canPrompt(context)) return await promptSecret('Client secret', context);
  const line = (await lines.next())?.trim();
  if (line) return line;
  throw new UsageError('--client-secret-stdin: the first line of standard input is empty');
}

async function ask(names: readonly SettingName[], context: Context): Promise<SettingFlags> {
  const answers: Partial<Record<SettingName, string>> = {};
  for (const name of names) {
    const { meaning, flag } = settingNames[name];
    const question = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)} (${flag})`;
    answers[name] = await promptText(question, context, (text) => problemWith(name, text));
  }
  return answers;
}

function problemWith(name: SettingName, text: string): string | undefined {
  try {
    parseSetting(name, text, settingNames[name].flag);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function incomplete(names: readonly SettingName[], secretToo: boolean): UsageError {
  const lines = missingSettings(names).details;
  const secret = '--client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret';
  const all = secretToo ? [...lines, secret] : lines;
  return new UsageError(all.length === 1 ? 'a setting is missing' : 'settings are missing', {
    details: all,
    next: 'give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
  });
}
