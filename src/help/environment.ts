import { settingNames } from '../settings/setting-names.ts';
import { aligned } from './aligned.ts';

export function environmentText(): string {
  const settings = Object.values(settingNames).map(
    ({ variable, flag, meaning }) => [variable, `${meaning} (flag ${flag})`] as const,
  );
  return `A flag overrides its variable, which overrides the profile, which overrides the
default. No setting is ever read from the working directory.

Settings:
${aligned([...settings, ['HOOKTRAIL_PROFILE', 'the profile to use (flag --profile)']])}
Secrets:
${aligned([
  ['HOOKTRAIL_CLIENT_SECRET', 'the client secret'],
  ['HOOKTRAIL_ACCESS_TOKEN', 'an access token to use as it is: never refreshed, never stored'],
  ['HOOKTRAIL_PASSPHRASE', 'opens the encrypted file of secrets (--store file); may be a key of keygen'],
  ['HOOKTRAIL_API_TOKEN', 'the token that webhooks listen expects from a sender'],
])}
Each secret may come from a file or a shell command instead: <NAME>_FILE names
the file, <NAME>_COMMAND is the command. The first line is the secret.

The machine:
${aligned([
  ['HOOKTRAIL_CONFIG_DIR', 'where settings, and secrets in an encrypted file, are kept'],
  ['HOOKTRAIL_BROWSER', 'a command that opens a URL: run with the URL as its one argument, without a shell'],
  [
    'HOOKTRAIL_PAGER',
    'a shell command for output that does not fit the terminal, else PAGER, else less; cat for none',
  ],
  ['HTTPS_PROXY', 'the proxy; NO_PROXY lists hosts that are reached without it'],
  ['NODE_EXTRA_CA_CERTS', 'a file of certificate authorities to trust besides the usual ones'],
  ['NO_COLOR, FORCE_COLOR', 'colour off, or on (flag --no-color)'],
  ['ACCESSIBLE', 'for screen readers: nothing is redrawn, progress is printed as occasional lines'],
])}`;
}
