import type { Command } from 'commander';
import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { guidsIn, notAGuid } from '../../items/guids.ts';
import { duration, fileName, wholeNumber } from '../../settings/flag-values.ts';
import { Flag } from '../../settings/flags.ts';
import { addConnectionFlags, addTimezoneFlag } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { durationText, HOUR_MS, SECOND_MS } from '../../time/lengths.ts';
import { byteSize, FORWARD_TIMEOUT_MS, forwardTimeout, handlerUrl, handOverFlag } from '../webhook-flags.ts';
import type { ListenFlags } from './listen.ts';

type Flags = Partial<Omit<ListenFlags, 'recover'>> & SettingFlags & { readonly recover?: number | true };

const DEFAULTS = {
  host: '127.0.0.1',
  port: 8977,
  path: '/',
  maxBody: 10 * 1024 * 1024,
  requestTimeout: 30_000,
  forwardTimeout: FORWARD_TIMEOUT_MS,
  recoverInterval: 300_000,
  handOver: 'event',
} as const;
const SHORTEST_WINDOW_MS = 60_000;
const DEFAULT_WINDOW_MS = 3_600_000;

export const commonFlags = '--port --forward-to --journal --recover --save-token --path --host --health';

export const help = `
Prints each accepted delivery as one line of JSON, or on a terminal as a summary
line. The sender gets 200 only when the handler has answered 2xx, the journal
has the eventId on disk and the line is written; otherwise it gets 502. A known
eventId gets 200 and is not forwarded. The expected Api-Token comes from
HOOKTRAIL_API_TOKEN, from --save-token of an earlier run, or from a hidden
prompt; with --subscription it is the one saved for that subscription. A saved
token that is renewed is taken over without a restart.`;

export const examples = [
  'hooktrail webhooks listen --forward-to http://127.0.0.1:3000/hooks',
  'hooktrail webhooks listen --recover --forward-to http://127.0.0.1:3000/hooks',
  'hooktrail webhooks listen --save-token | jq .eventType',
  'hooktrail webhooks listen --host 0.0.0.0 --port 8080 --path /in --keep 30d',
];

export function declare(command: Command): void {
  command
    .addOption(
      new Flag(
        '--port <number>',
        'the port to listen on',
        { preset: DEFAULTS.port },
        wholeNumber('--port', 0, 65_535),
      ),
    )
    .addOption(new Flag('--host <address>', 'the address to listen on', { preset: DEFAULTS.host }, hostFlag))
    .addOption(
      new Flag(
        '--path <path>',
        'the path that deliveries are posted to',
        { preset: '/' },
        pathFlag('--path'),
      ),
    )
    .option('--forward-to <url>', 'forward each event to this handler', handlerUrl('--forward-to'))
    .option(
      '--subscription <guid>',
      'of this subscription: use the Api-Token and journal saved for it; --recover searches only for it',
      subscriptionFlag,
    )
    .addOption(
      new Flag(
        '--journal <file>',
        'records the ids of accepted events',
        { preset: 'one per profile, next to the settings' },
        fileName('--journal'),
      ),
    )
    .addOption(
      new Flag(
        '--keep <time>',
        'forget ids after this time, such as 30d',
        { preset: 'never' },
        duration('--keep', SECOND_MS, Number.POSITIVE_INFINITY),
      ),
    )
    .addOption(
      new Flag(
        '--max-body <size>',
        'the largest delivery accepted',
        { preset: '10mb' },
        byteSize('--max-body'),
      ),
    )
    .option('--save-token', 'save the Api-Token where secrets live, for the next time')
    .addOption(forwardTimeout())
    .addOption(
      new Flag(
        '--request-timeout <time>',
        'how long a sender may take for a whole delivery',
        { preset: '30s' },
        duration('--request-timeout', SECOND_MS, HOUR_MS, 's'),
      ),
    )
    .option(
      '--recover [window]',
      'also find undelivered events by search, at the start and at intervals (default window: 1h)',
      duration('--recover', SHORTEST_WINDOW_MS, Number.POSITIVE_INFINITY),
    )
    .addOption(
      new Flag(
        '--recover-interval <time>',
        'time between these searches',
        { preset: '5m' },
        duration('--recover-interval', SECOND_MS),
      ),
    )
    .option(
      '--new-journal',
      'with --recover: if the journal is new, also hand over what was delivered before',
    )
    .addOption(handOverFlag())
    .option('--health <path>', 'return counts as JSON for GET requests to this path', pathFlag('--health'));
  addTimezoneFlag(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags } = call;
  const { path, health } = { ...DEFAULTS, ...flags };
  if (health === path) {
    throw new UsageError(
      `--health: invalid value '${health}': must be another path than that of the deliveries`,
    );
  }
  if (flags.recoverInterval !== undefined && flags.recover === undefined) {
    throw new UsageError('--recover-interval has no effect without --recover');
  }
  if (flags.newJournal && flags.recover === undefined)
    throw new UsageError('--new-journal has no effect without --recover');
  const recover = flags.recover === true ? DEFAULT_WINDOW_MS : flags.recover;
  if (recover !== undefined && flags.keep !== undefined && flags.keep < recover) {
    const window = durationText(recover);
    throw new UsageError(
      `--keep: must be at least the window of --recover, ${window}: forgotten events would be forwarded again`,
    );
  }
  const zone = call.settings.zone;
  const { listenAsProfile } = await import('./listen.ts');
  await listenAsProfile({ ...DEFAULTS, ...flags, recover, zone }, call);
}

function subscriptionFlag(text: string): string {
  const [guid, another] = guidsIn(text);
  if (guid !== undefined && another === undefined) return guid;
  throw new UsageError(`--subscription: ${notAGuid(text)}`, {
    next: advise`${hooktrail('subscriptions')} lists the subscriptions with their ids`,
  });
}

/** Rejects an empty host, which would mean every address of the machine. */
function hostFlag(text: string): string {
  // Strip the brackets of an IPv6 address, as in a URL (RFC 3986 section 3.2.2).
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (host.trim() !== '') return host;
  throw new UsageError(
    `--host: invalid value '${text}': must be a name or an address of this machine, such as 127.0.0.1`,
  );
}

function pathFlag(flag: string): (text: string) => string {
  return (text) => {
    if (/^\/[\x21\x22\x24-\x3e\x40-\x7e]*$/.test(text)) return text;
    // Git Bash converts an argument with a leading slash into a Windows path.
    const isConverted = /^[a-z]:[\\/]/i.test(text);
    const next = isConverted ? `in Git Bash write ${flag} //events, with two slashes` : undefined;
    throw new UsageError(
      `${flag}: invalid value '${text}': must be a path such as /events, without a query`,
      {
        next,
      },
    );
  };
}
