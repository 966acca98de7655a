import { type Advice, advise, hooktrailOver } from '../advice.ts';
import { guidsIn } from '../items/guids.ts';

const PART = /^([0-9a-f][0-9a-f-]{3,34}|(?=\D*\d)(?![0-9a-f-]+$)\w[\w.:-]{3,60}?)(…|\.\.\.)?$/i;

/** Suggests a search if the text may be part of an id or an order number; otherwise undefined. */
export function findByPart(text: string, what: string, from?: string): Advice | undefined {
  const [, part] = PART.exec(text.trim()) ?? [];
  if (part === undefined || guidsIn(text).length > 0) return undefined;
  return advise`${hooktrailOver(from, 'events search --grep', part)} finds ${what} by part of its id, or by another text`;
}
