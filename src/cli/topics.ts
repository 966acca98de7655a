import { readFileSync } from 'node:fs';

/** A subject that `hooktrail help` explains in addition to the commands. */
export interface Topic {
  readonly name: string;
  readonly summary: string;
}

/** All topics, in the order in which help lists them. */
export const topics: readonly Topic[] = [
  { name: 'exit-codes', summary: 'what each exit code means' },
  { name: 'environment', summary: 'the variables that hooktrail reads' },
  { name: 'filters', summary: 'how events are chosen: times, ids, statuses and types' },
  { name: 'times', summary: 'times and zones: how they are shown and read' },
  { name: 'agents', summary: 'how a program uses the command line well' },
];

/**
 * Returns the page about a topic. The package keeps the pages in a folder beside both `src/` and the built
 * program.
 */
export function topicText(name: string): string {
  return readFileSync(new URL(`../../docs/help/${name}.txt`, import.meta.url), 'utf8');
}

/** Returns each exit code with its meaning, as the page about them lists it. */
export function exitCodeMeanings(): { code: number; meaning: string }[] {
  const rows = topicText('exit-codes').matchAll(/^ {2}(\d+) {2,}(.*(?:\n {7}.*)*)$/gm);
  return [...rows].map(([, code, text = '']) => ({
    code: Number(code),
    meaning: text.replaceAll(/\n +/g, ' '),
  }));
}
