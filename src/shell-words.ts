/**
 * Turns flags into words of a command line again, in the order of `names` (as in commander): `authUrl`
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

/**
 * True for standard input (`-`) and for file descriptors of this process, such as bash's `<(command)`: a
 * later command line cannot name them.
 */
export function isOfThisProcess(file: string): boolean {
  return file === '-' || /^\/dev\/(stdin|fd\/\d+)$|^\/proc\/(self|\d+)\/fd\/\d+$/.test(file);
}

export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a word for a POSIX shell only if needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}

export function shellText(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
