import { quotedWord } from '../settings/command-words.ts';
import { mediaType } from './service.ts';

/** A `curl` command that sends the same GET; the token is fetched by the shell that runs it. */
export function curlCommand(url: URL, vendor: string, profile: string | undefined): string {
  const token = `$(hooktrail token${profile ? ` --profile ${profile}` : ''})`;
  return [
    'curl --globoff --silent --show-error --fail-with-body',
    `--header ${quotedWord(`Accept: ${mediaType(vendor)}`)}`,
    `--header "Authorization: Bearer ${token}"`,
    quotedWord(url.href),
  ].join(' ');
}
