import type { Call } from '../command.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { resolveKeptTypes } from '../filters/event-types.ts';
import { mediaType } from '../http/service.ts';
import { searchUrl } from '../paging/event-query.ts';
import { quotedWord } from '../shell-words.ts';

/** Needs no sign-in, since it sends nothing. Pages have `size` items. */
export async function previewRequests(
  { flags, settings, context, reporter }: Call,
  typed: EventFilters,
  size: number,
  form: 'urls' | 'curl',
): Promise<undefined> {
  const filters = resolveKeptTypes(typed, settings, context);
  const queries = filters.queries(context.clock.now());
  filters.requirePastStart(context.clock.now(), "this machine's");
  if (filters.runHere)
    reporter.warning('the requests leave out --where, --grep and --marketplace: hooktrail applies them', {
      kind: 'usage',
    });
  const curl = form === 'curl' && settings.checked(['baseUrl', 'vendor']);
  const { baseUrl } = curl || settings.checked(['baseUrl']);
  for (const query of queries) {
    const url = searchUrl(baseUrl, query, { start: 1, count: size });
    await context.stdout.write(`${curl ? curlCommand(url, curl.vendor, flags.profile) : url.href}\n`);
  }
}

function curlCommand(url: URL, vendor: string, profile: string | undefined): string {
  const token = `$(hooktrail token${profile ? ` --profile ${profile}` : ''})`;
  return [
    'curl --globoff --silent --show-error --fail-with-body',
    `--header ${quotedWord(`Accept: ${mediaType(vendor)}`)}`,
    `--header "Authorization: Bearer ${token}"`,
    quotedWord(url.href),
  ].join(' ');
}
