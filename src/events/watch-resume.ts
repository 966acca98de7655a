import type { Instant } from './instant.ts';

/** Flags of `watch` that a resumed run is given again; times and limits are what the first run is through with. */
const KEPT = [
  ['subscription', '--subscription'],
  ['id', '--id'],
  ['status', '--status'],
  ['failed', '--failed'],
  ['type', '--type'],
  ['before', '--before'],
  ['until', '--until'],
  ['interval', '--interval'],
  ['overlap', '--overlap'],
  ['concurrency', '--concurrency'],
  ['output', '--output'],
  ['json', '--json'],
  ['ndjson', '--ndjson'],
  ['csv', '--csv'],
  ['csvRaw', '--csv-raw'],
  ['fields', '--fields'],
  ['jq', '--jq'],
  ['profile', '--profile'],
  ['authUrl', '--auth-url'],
  ['baseUrl', '--base-url'],
  ['clientId', '--client-id'],
  ['vendor', '--vendor'],
] as const;

/** The command line that goes on where a watch ended.. */
export function resumeCommand(flags: Readonly<Record<string, unknown>>, at: Instant): string {
  const words = ['hooktrail', 'events', 'watch', '--after', at.text];
  for (const [name, flag] of KEPT) {
    const value = flags[name];
    if (value === undefined) continue;
    if (value === true) words.push(flag);
    else for (const one of Array.isArray(value) ? value : [value]) words.push(flag, shellWord(String(one)));
  }
  return words.join(' ');
}

/** One word for a POSIX shell, in quotes where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
