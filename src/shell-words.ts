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

/** One word for a POSIX shell, in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}

/** A line for a POSIX shell. */
export function shellText(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
