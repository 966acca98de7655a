import type { Advice } from '../advice.ts';
import type { ErrorParts } from '../errors.ts';

/**
 * Returns the candidate that was probably meant, by Damerau–Levenshtein distance without regard to case;
 * undefined if none is near: more than a third of the longer text would have to change, or more than half of
 * a part between dots, as from `order.cancelled` to `order.created`.
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(text.length, candidate.length) / 3));
    if (distance <= allowed && distance < bestDistance && haveNearParts(text, candidate)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  const begun = candidates.filter((candidate) => candidate.startsWith(text.toLowerCase()));
  return best ?? (text.length > 2 && begun.length === 1 ? begun[0] : undefined);
}

/**
 * True if each part between dots is near the other's; texts with different numbers of parts are compared as a
 * whole.
 */
function haveNearParts(text: string, candidate: string): boolean {
  const parts = text.toLowerCase().split('.');
  const others = candidate.toLowerCase().split('.');
  if (parts.length !== others.length || parts.length === 1) return true;
  return parts.every((part, index) => {
    const other = others[index] as string;
    const allowed = Math.max(1, Math.floor(Math.max(part.length, other.length) / 2));
    return editDistance(part, other) <= allowed;
  });
}

/**
 * Returns the error parts that suggest a correction. The next step becomes the corrected line if the word
 * occurs in the line; `otherwise` if no candidate is near.
 */
export function didYouMean(
  text: string,
  candidates: readonly string[],
  otherwise?: Advice,
  synonym?: string,
): Pick<ErrorParts, 'next' | 'correction'> {
  const meant = synonym ?? nearest(text, candidates);
  if (meant === undefined) return { next: otherwise };
  return { next: `did you mean ${meant}?`, correction: { typed: text, meant } };
}

function editDistance(a: string, b: string): number {
  // Names are short; a service's longer texts are not worth the quadratic cost.
  if (a.length > 200 || b.length > 200) return a === b ? 0 : Number.POSITIVE_INFINITY;
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => i + j),
  );
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (const [i, row] of rows.entries())
    for (let j = 1; i > 0 && j <= b.length; j++) {
      const substitution = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? at(i - 2, j - 2) + 1 : substitution;
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, substitution, swap);
    }
  return at(a.length, b.length);
}
