import { UsageError } from '../../errors.ts';

/** A parser for the flag that names a journal. */
export function journalFlag(text: string): string {
  if (text !== '') return text;
  throw new UsageError("--journal: '' is not accepted: the name of a file");
}
