/**
 * A command over the same events, in the words of a POSIX shell. A pipe that was read has to be piped again.
 */
export function commandOver(from: string | undefined, words: readonly string[]): string {
  const source = from === undefined ? [] : ['--from', shellWord(from)];
  return [...(from === '-' ? ['… |'] : []), ...words, ...source].join(' ');
}

/**
 * Flags as words of a command line again, in the order of `names` (as commander names them): `authUrl`
 * becomes `--auth-url` and its value, a switch only the flag, a repeated flag as many pairs as it has values.
 */
export function flagWords(flags: object, names: readonly string[]): string[] {
  const values = new Map<string, unknown>(Object.entries(flags));
  return names.flatMap((name) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const value = values.get(name);
    if (value === undefined) return [];
    return value === true ? [flag] : [value].flat().flatMap((one) => [flag, String(one)]);
  });
}

/** Commands that no profile changes. */
const WITHOUT_PROFILE = /^hooktrail (keygen|sandbox|demo|completion|help|profiles|version)\b| --help$/;

/**
 * Completes the commands that a text names in backquotes, so that they mean the profile and the store that
 * this run was told to use: with `--profile night`, `hooktrail login` becomes `hooktrail login --profile
 * night`.
 */
export function completeCommands(
  text: string,
  { profile, store }: { readonly profile?: string | undefined; readonly store?: string | undefined },
): string {
  return text.replace(/`(hooktrail [^`]+)`/g, (whole, command: string) => {
    if (WITHOUT_PROFILE.test(command)) return whole;
    const flags = {
      profile: command.includes(' --profile ') ? undefined : profile,
      store: /^hooktrail login\b(?!.* --store )/.test(command) ? store : undefined,
    };
    return `\`${[command, ...flagWords(flags, ['profile', 'store']).map(shellWord)].join(' ')}\``;
  });
}

/** One word for a POSIX shell, in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}
