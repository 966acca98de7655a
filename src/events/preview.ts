import type { Call } from '../command.ts';
import { loadSettings, type SettingFlags } from '../config/settings.ts';
import { type Query, searchUrl } from './query.ts';

/** Prints the first request of each search, for pages of `size` items, and sends nothing: nobody need be signed in. */
export async function previewRequests(
  { flags, context }: Call<SettingFlags>,
  queries: readonly Query[],
  size: number,
  form: 'urls' | 'curl',
): Promise<void> {
  const settings = await loadSettings(flags, context);
  const { baseUrl } = settings.require('baseUrl');
  const urls = queries.map((query) => searchUrl(baseUrl, query, { start: 1, count: size }));
  if (form === 'curl') {
    const { curlCommand } = await import('../http/curl.ts');
    const { vendor } = settings.require('vendor');
    for (const url of urls) await context.stdout.write(`${curlCommand(url, vendor, flags.profile)}\n`);
  } else {
    for (const url of urls) await context.stdout.write(`${url.href}\n`);
  }
}
