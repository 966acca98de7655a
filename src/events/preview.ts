import type { Call } from '../command.ts';
import { loadSettings, type SettingFlags } from '../config/settings.ts';
import { type Query, searchUrl } from './query.ts';

/**
 * `--dry-run` and `--curl`: prints the first request of each search, for pages of `size` items, and sends nothing;
 * neither needs a sign-in.
 */
export async function previewRequests(
  { flags, context }: Call<SettingFlags>,
  queries: readonly Query[],
  size: number,
  asCurl: boolean,
): Promise<void> {
  const settings = await loadSettings(flags, context);
  const { baseUrl } = settings.require('baseUrl');
  const urls = queries.map((query) => searchUrl(baseUrl, query, { start: 1, count: size }));
  if (asCurl) {
    const { curlCommand } = await import('../http/curl.ts');
    const { vendor } = settings.require('vendor');
    for (const url of urls) await context.stdout.write(`${curlCommand(url, vendor, flags.profile)}\n`);
  } else {
    for (const url of urls) await context.stdout.write(`${url.href}\n`);
  }
}
