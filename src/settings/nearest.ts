/**
 * The candidate that was probably meant, by Damerau–Levenshtein distance without regard to case; undefined where
 * none is near (more than two fifths of the longer text would have to change).
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(text.length, candidate.length) * 0.4));
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
