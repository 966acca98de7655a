import type { Call } from '../command.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import type { EventFilters } from './event-filters.ts';
import { searchUrl } from './event-query.ts';

/** Prints the first request of each search, for pages of `size` items, and sends nothing: nobody need be signed in. */
export async function previewRequests(
  { flags, context }: Call<SettingFlags>,
  filters: EventFilters,
  size: number,
  form: 'urls' | 'curl',
): Promise<void> {
  const queries = filters.queries(context.clock.now());
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
