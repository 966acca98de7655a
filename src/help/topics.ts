/** A subject that `hooktrail help` explains in addition to the commands. */
export interface Topic {
  readonly name: string;
  readonly summary: string;
  text(): Promise<string>;
}

/** All topics. A topic's text is loaded when it is shown. */
export const topics: readonly Topic[] = [
  {
    name: 'exit-codes',
    summary: 'what each exit code means',
    text: async () => (await import('./topic-texts.ts')).exitCodesText(),
  },
  {
    name: 'environment',
    summary: 'the variables that hooktrail reads',
    text: async () => (await import('./topic-texts.ts')).environmentText(),
  },
  {
    name: 'filters',
    summary: 'how events are chosen: times, ids, statuses and types',
    text: async () => (await import('./topic-texts.ts')).filtersText(),
  },
  {
    name: 'times',
    summary: 'times and zones: how they are shown and read',
    text: async () => (await import('./topic-texts.ts')).timesText(),
  },
  {
    name: 'agents',
    summary: 'how a program uses the command line well',
    text: async () => (await import('./agents.ts')).agentsText(),
  },
];
