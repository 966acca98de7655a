import type { Call } from '../command.ts';
import { mediaType } from '../http/service.ts';
import { quotedWord } from '../settings/command-words.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import type { EventFilters } from './event-filters.ts';
import { searchUrl } from './event-query.ts';
import { resolveKeptTypes } from './event-types.ts';

/** Prints the first request of each search, for pages of `size` items. Sends nothing, so it works without a sign-in. */
export async function previewRequests(
  { flags, context }: Call<SettingFlags>,
  typed: EventFilters,
  size: number,
  form: 'urls' | 'curl',
): Promise<void> {
  const filters = await resolveKeptTypes(typed, flags.profile, context);
  const queries = filters.queries(context.clock.now());
  filters.requirePastStart(context.clock.now(), "this machine's");
  const write = (line: string) => context.stdout.write(`${line}\n`);
  const urlsAt = (baseUrl: URL) =>
    queries.map((query) => searchUrl(baseUrl, query, { start: 1, count: size }));
  if (form === 'curl') {
    const { baseUrl, vendor } = await loadSettings(flags, context, ['baseUrl', 'vendor']);
    for (const url of urlsAt(baseUrl)) await write(curlCommand(url, vendor, flags.profile));
  } else {
    const { baseUrl } = await loadSettings(flags, context, ['baseUrl']);
    for (const url of urlsAt(baseUrl)) await write(url.href);
  }
}

/** A `curl` command that sends the same GET; the token is fetched by the shell that runs it. */
function curlCommand(url: URL, vendor: string, profile: string | undefined): string {
  const token = `$(hooktrail token${profile ? ` --profile ${profile}` : ''})`;
  return [
    'curl --globoff --silent --show-error --fail-with-body',
    `--header ${quotedWord(`Accept: ${mediaType(vendor)}`)}`,
    `--header "Authorization: Bearer ${token}"`,
    quotedWord(url.href),
  ].join(' ');
}
