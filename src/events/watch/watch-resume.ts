import type { Instant } from '../../items/instant.ts';
import { flagWords, shellWord } from '../../settings/command-words.ts';

/** Flags that a resumed run is given again: all but `--after`, which says where it goes on, and `--limit`. */
const KEPT = [
  ...['subscription', 'id', 'status', 'failed', 'type', 'before', 'until'],
  ...['interval', 'overlap', 'concurrency'],
  ...['output', 'json', 'ndjson', 'csv', 'csvRaw', 'fields', 'jq'],
  ...['profile', 'authUrl', 'baseUrl', 'clientId', 'vendor'],
];

/** The command line that goes on where a watch ended. */
export function resumeCommand(flags: object, at: Instant): string {
  const words = ['events', 'watch', '--since', at.text, ...flagWords(flags, KEPT).map(shellWord)];
  return ['hooktrail', ...words].join(' ');
}
