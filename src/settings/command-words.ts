import type { ErrorParts } from '../errors.ts';

/**
 * Flags as words of a command line again, in the order of `names` (as commander names them): `authUrl` becomes
 * `--auth-url` and its value, a switch only the flag, a repeated flag as many pairs as it has values.
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
const WITHOUT_PROFILE = /^hooktrail (keygen|sandbox|demo|completion|help|profiles|version)\b/;

/**
 * Completes the commands that a text names in backquotes, so that they mean the profile and the store that this run was
 * told to use: with `--profile night`, `hooktrail login` becomes `hooktrail login --profile night`.
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

/**
 * The candidate that was probably meant, by Damerau–Levenshtein distance without regard to case; undefined where
 * none is near (more than a third of the longer text would have to change).
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(text.length, candidate.length) / 3));
    if (distance <= allowed && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The question that an error asks about a misspelt word; undefined where no candidate is near. */
export function suggestion(text: string, candidates: readonly string[]): string | undefined {
  const meant = nearest(text, candidates);
  return meant && `did you mean ${meant}?`;
}

/**
 * The same as parts of an error, which becomes the corrected line if the word stands on the line. Where no candidate is
 * near, the next step is `otherwise`.
 */
export function didYouMean(
  text: string,
  candidates: readonly string[],
  otherwise?: string,
): Pick<ErrorParts, 'next' | 'correction'> {
  const meant = nearest(text, candidates);
  if (meant === undefined) return { next: otherwise };
  return { next: `did you mean ${meant}?`, correction: { typed: text, meant } };
}

function editDistance(a: string, b: string): number {
  // Names are short; a service's longer texts are not worth the quadratic cost.
  if (a.length > 200 || b.length > 200) return a === b ? 0 : Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const above = rows[i - 1] as number[];
      const substitution = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min((above[j] as number) + 1, (row[j - 1] as number) + 1, substitution);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j] as number, (rows[i - 2]?.[j - 2] as number) + 1);
      }
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] as number;
}
