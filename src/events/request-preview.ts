import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import { type Query, searchUrl } from './event-query.ts';

/** Prints the first request of each search, for pages of `size` items, and sends nothing: nobody need be signed in. */
export async function previewRequests(
  { flags, context }: Call<SettingFlags>,
  queries: readonly Query[],
  size: number,
  form: 'urls' | 'curl',
): Promise<void> {
  const write = (line: string) => context.stdout.write(`${line}\n`);
  const urlsAt = (baseUrl: URL) =>
    queries.map((query) => searchUrl(baseUrl, query, { start: 1, count: size }));
  if (form === 'curl') {
    const { curlCommand } = await import('../http/curl.ts');
    const { baseUrl, vendor } = await loadSettings(flags, context, ['baseUrl', 'vendor']);
    for (const url of urlsAt(baseUrl)) await write(curlCommand(url, vendor, flags.profile));
  } else {
    const { baseUrl } = await loadSettings(flags, context, ['baseUrl']);
    for (const url of urlsAt(baseUrl)) await write(url.href);
  }
}

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

/** For commands that can show their requests instead of sending them. */
export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/** How the requests are to be shown; undefined where they are to be sent. Throws `UsageError` for both ways at once. */
export function previewForm({ dryRun, curl }: PreviewFlags): 'urls' | 'curl' | undefined {
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}
