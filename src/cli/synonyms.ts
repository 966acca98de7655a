import type { Command } from 'commander';
import { type Advice, advise, hooktrail } from '../advice.ts';
import { type FilterField, filterKeys } from '../items/filter-keys.ts';
import { wordsOf } from './help-text.ts';

const COMMAND_SYNONYMS: Readonly<Record<string, string>> = {
  login: 'auth login, auth, signin, sign-in, configure, init, setup, profiles add, profiles create',
  logout: 'auth logout, signout, sign-out',
  status: 'auth status, whoami, me, config current-context',
  token: 'auth token, auth print-access-token',
  'event-types': 'types, topics, get event-types, list event-types, get types, list types',
  'events search':
    'list, ls, query, filter, latest, recent, logs, log, get events, show events, failures, failed, errors',
  'events find': 'find, lookup, locate, grep',
  'events browse': 'open, tui, ui',
  'events get': 'show, view, describe, inspect, retrieve',
  'events stats': 'statistics, summary, metrics',
  'events watch': 'tail, follow, logs tail',
  'events explain': 'why, diagnose',
  'events health':
    'subscriptions, status, get subscriptions, list subscriptions, list webhooks, webhooks list',
  'events export': 'download, dump',
  'subscriptions create': 'subscribe',
  'subscriptions disable': 'delete, remove, rm, unsubscribe',
  'webhooks listen': 'forward, receive, serve',
  'webhooks recover': 'catch-up',
  'webhooks replay': 'retry, resend, rerun, redeliver',
  'webhooks send': 'test, trigger',
  profiles: 'profile, contexts, environments, list profiles, get profiles, config get-contexts',
  'profiles use': 'switch, select, set, config use-context',
  'profiles delete': 'remove, rm',
  config: 'settings, configuration, configure list, config view, config show',
  'config get': 'configure get',
  'config set': 'configure set',
  'config unset': 'delete, remove, rm',
  doctor: 'check, diagnose',
  sandbox: 'mock, server',
  help: 'man, docs',
};

export const FLAGS_OF_WORDS: Readonly<Record<string, string>> = {
  failures: '--failed',
  failed: '--failed',
  errors: '--failed',
};

/**
 * Flags of other programs, and of the service's own fields: each maps to the first meaning that the command
 * has. A meaning with a value replaces a switch. A meaning without a dash is a sibling command.
 */
export const FLAG_SYNONYMS: readonly (readonly [typed: string, ...meanings: string[]])[] = [
  ['--format --output-format --out', '--output'],
  ['--out-file --output-to --save', '--output-file'],
  ['--event-id --event --ids', '--id', '--fields eventId --no-header'],
  ['--event-type --types --topic --event-name', '--type', '--add-type'],
  ['--sub', '--subscription'],
  ['--delivery-status --state', '--status'],
  ['--start --start-time --begin --last --period --newer-than --from-time --from-date', '--since'],
  ['--end --end-time --to --older-than --to-time --to-date', '--until'],
  ['--filter --selector --field-selector --condition -l', '--where', '--match'],
  ['--search --text --contains --find --filter-pattern', '--grep', '--match'],
  ['--tail --head --max --max-items --max-results --size --top --lines -L -c', '--limit', '--count'],
  ['--columns --select --field --cols', '--fields'],
  ['--query --filter-output', '--jq'],
  ['--jsonl --json-lines', '--ndjson'],
  ['--table', '--output table'],
  ['--markdown', '--output markdown'],
  ['--tz --zone --time-zone', '--timezone'],
  ['--utc', '--timezone UTC'],
  ['--local --local-time', '--timezone local'],
  ['--no-headers --no-headings', '--no-header'],
  ['--failures --errors --failed-only --error', '--failed'],
  ['--success --succeeded --delivered', '--status SUCCESS'],
  ['--oldest --oldest-first --asc', '--reverse'],
  ['--callback-url --callback --webhook --webhook-url', '--url'],
  ['--endpoint', '--url', '--base-url'],
  // Adding to a list may be suggested, removing never.
  ['--type', '--add-type'],
  ['--marketplace', '--add-marketplace'],
  ['--server --host --api-url --service', '--base-url'],
  ['--group-by --group', '--by'],
  ['--handler --target --forward --destination', '--forward-to'],
  ['--data --body-file --file --input', '--input', '--body', '--from', '--output-file'],
  ['--dryrun --preview', '--dry-run'],
  ['--all-namespaces -A', '--all'],
  ['--force --confirm -y', '--yes', '--replace'],
  ['--env --environment --context -p', '--profile'],
  ['--silent -q -s', '--quiet'],
  ['-d', '--debug'],
  ['--count', 'count'],
  ['--follow --watch --live -f -w', 'watch'],
  ['--curl', 'search --curl'],
  ...filterKeys.map(({ field, flag }) => [fieldFlag(field), `--${flag}`] as const),
];

function fieldFlag(field: FilterField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Secrets that people type as arguments, where other users and the shell's history see them. */
export const SECRET_FLAGS: readonly (readonly [typed: string, next: Advice])[] = [
  [
    '--client-secret --secret',
    advise`${hooktrail('login')} asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET`,
  ],
  [
    '--token --access-token --api-key',
    'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
  ],
  [
    '--passphrase --password',
    'set HOOKTRAIL_PASSPHRASE, HOOKTRAIL_PASSPHRASE_FILE or HOOKTRAIL_PASSPHRASE_COMMAND',
  ],
  [
    '--api-token',
    advise`set HOOKTRAIL_API_TOKEN, or save it with ${hooktrail('webhooks listen --save-token')}`,
  ],
];

export function namesOf(command: Command): string[] {
  return [command.name(), ...(COMMAND_SYNONYMS[wordsOf(command)]?.split(', ') ?? [])];
}
