import { derive } from '../items/derived-values.ts';
import type { Derivation } from '../items/field-path.ts';
import { UTC } from '../time/time-zone.ts';

/** Values of which it is tried what they derive. */
const MOST_TRIED = 2048;
/** From so many values on the lengths of texts are compared: of a few the value itself says more. */
const FEWEST_TEXTS_MEASURED = 50;
/** Texts of fewer lengths are names and ids with numbers in them. */
const FEWEST_DIFFERENT = 10;
/** Of what a text derives from: more domains than these are ids. */
const MOST_DERIVED_SHARE = 0.5;

/**
 * The derivations by which values, as JSON texts, tell more than by themselves: not lengths or domains in
 * which all are alike, or hardly any two.
 */
export function worthDeriving(values: readonly string[]): Derivation[] {
  const texts = values.slice(0, MOST_TRIED).filter((json) => json.startsWith('"'));
  const derivations: Derivation[] = [];
  if (tellsByLength(texts)) derivations.push('length');
  if (tellsOf(texts, countDerived(texts, 'domain'))) derivations.push('domain');
  return derivations;
}

function tellsByLength(texts: readonly string[]): boolean {
  if (texts.length < FEWEST_TEXTS_MEASURED) return false;
  const lengths = countDerived(texts, 'length');
  return lengths >= FEWEST_DIFFERENT && tellsOf(texts, lengths);
}

/** True if what texts derive, of which there are so many, tells some from others, and not each from each. */
function tellsOf(texts: readonly string[], derived: number): boolean {
  return derived > 1 && derived <= MOST_DERIVED_SHARE * texts.length;
}

/** How many different values texts derive. */
function countDerived(texts: readonly string[], derivation: Derivation): number {
  const derived = new Set(texts.map((json) => derivedText(json, derivation)));
  derived.delete(undefined);
  return derived.size;
}

/** The JSON text of what a value derives; undefined if it derives nothing. */
export function derivedText(json: string, derivation: Derivation): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const bytes = Buffer.from(json);
  const value = derive(derivation, UTC)(bytes, 0, bytes.length);
  return value === undefined ? undefined : JSON.stringify(value);
}
