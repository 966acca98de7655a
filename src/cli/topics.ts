import { readFileSync } from 'node:fs';
import { exitCodesText } from './exit-codes.ts';

export interface Topic {
  readonly name: string;
  readonly summary: string;
}

export const topics: readonly Topic[] = [
  { name: 'exit-codes', summary: 'what each exit code means' },
  { name: 'environment', summary: 'the variables that hooktrail reads' },
  { name: 'filters', summary: 'how events are chosen: times, ids, statuses and types' },
  { name: 'times', summary: 'times and zones: how they are shown and read' },
  { name: 'agents', summary: 'how a program uses the command line well' },
];

/** The package keeps the pages in a folder next to both `src/` and the built program. */
export function topicText(name: string): string {
  const page = readFileSync(new URL(`../../docs/help/${name}.txt`, import.meta.url), 'utf8');
  return name === 'exit-codes' ? `${exitCodesText()}\n${page}` : page;
}
