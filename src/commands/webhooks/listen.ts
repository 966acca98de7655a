import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { duration, durationText, fileName, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags, addTimezoneFlag } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import {
  byteSize,
  type ForwardFlags,
  forwardTimeout,
  forwardTimeoutOf,
  handlerUrl,
} from '../../webhooks/webhook-flags.ts';

interface Flags extends ForwardFlags, SettingFlags {
  readonly port?: number;
  readonly host?: string;
  readonly path?: string;
  readonly forwardTo?: URL;
  readonly journal?: string;
  readonly keep?: number;
  readonly maxBody?: number;
  readonly saveToken?: true;
  readonly requestTimeout?: number;
  readonly health?: string;
  /** True if the flag is given without a window. */
  readonly recover?: number | true;
  readonly recoverInterval?: number;
}

const PORT = 8977;
const HOST = '127.0.0.1';
const MAX_BODY = 10 * 1024 * 1024;
const REQUEST_TIMEOUT = 30;
const WINDOW = 3_600_000;
const INTERVAL = 300_000;
const MINUTE = 60_000;

export function declare(command: Command, action: Action): void {
  command
    .option('--port <number>', `the port to listen on (default: ${PORT})`, wholeNumber('--port', 0, 65_535))
    .option('--host <address>', `the address to listen on (default: ${HOST})`, hostFlag)
    .option('--path <path>', 'the path that deliveries are posted to (default: /)', pathFlag('--path'))
    .option('--forward-to <url>', 'forward each event to this handler', handlerUrl('--forward-to'))
    .option(
      '--journal <file>',
      'records the ids of accepted events (default: one per profile, beside the settings)',
      fileName('--journal'),
    )
    .option(
      '--keep <time>',
      'forget ids after this time, such as 30d (default: never)',
      duration('--keep', 1000, Number.POSITIVE_INFINITY),
    )
    .option('--max-body <size>', 'the largest delivery accepted (default: 10mb)', byteSize('--max-body'))
    .option('--save-token', 'save the Api-Token where secrets live, for the next time')
    .addOption(forwardTimeout())
    .option(
      '--request-timeout <s>',
      `seconds a sender has for a whole delivery (default: ${REQUEST_TIMEOUT})`,
      wholeNumber('--request-timeout', 1, 3_600),
    )
    .option(
      '--recover [window]',
      'also find undelivered events by search, at the start and at intervals (default window: 1h)',
      duration('--recover', MINUTE, Number.POSITIVE_INFINITY),
    )
    .option(
      '--recover-interval <time>',
      'time between these searches (default: 5m)',
      duration('--recover-interval', 1000),
    )
    .option('--health <path>', 'return counts as JSON for GET requests to this path', pathFlag('--health'));
  addTimezoneFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Prints each accepted delivery as one line of JSON, or on a terminal as a summary
line. The sender gets 200 only when the handler has answered 2xx, the journal
has the eventId on disk and the line is written; otherwise it gets 502. A known
eventId gets 200 and is not forwarded. The expected Api-Token comes from
HOOKTRAIL_API_TOKEN, from the place where --save-token saved it, or from a
hidden prompt.

Examples:
  $ hooktrail webhooks listen --forward-to http://127.0.0.1:3000/hooks
  $ hooktrail webhooks listen --recover --forward-to http://127.0.0.1:3000/hooks
  $ hooktrail webhooks listen --save-token | jq .eventType
  $ hooktrail webhooks listen --host 0.0.0.0 --port 8080 --path /in --keep 30d`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags }: Call<Flags>, zone: TimeZone) {
  const { path = '/', health, recover, recoverInterval } = flags;
  if (health === path) {
    throw new UsageError(
      `--health: invalid value '${health}': must be another path than that of the deliveries`,
    );
  }
  if (recoverInterval !== undefined && recover === undefined) {
    throw new UsageError('--recover-interval has no effect without --recover');
  }
  return {
    host: flags.host ?? HOST,
    port: flags.port ?? PORT,
    path,
    forwardTo: flags.forwardTo,
    forwardTimeout: forwardTimeoutOf(flags),
    /** Undefined for that of the profile. */
    journal: flags.journal,
    keep: flags.keep,
    maxBody: flags.maxBody ?? MAX_BODY,
    requestTimeout: (flags.requestTimeout ?? REQUEST_TIMEOUT) * 1000,
    health,
    zone,
    savesToken: flags.saveToken === true,
    recovery:
      recover === undefined
        ? undefined
        : { window: recover === true ? WINDOW : recover, interval: recoverInterval ?? INTERVAL },
  };
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context, reporter } = call;
  const { savesToken, recovery, ...options } = optionsOf(call, await loadTimeZone(flags, context));
  const { loadSettings } = await import('../../settings/settings.ts');
  const { requireApiToken, saveApiToken, tokenPlace } = await import('../../webhooks/api-token.ts');
  const { defaultJournal } = await import('../../webhooks/journal-file.ts');
  const { listen } = await import('../../webhooks/listening.ts');
  const settings = await loadSettings(flags.profile ? { profile: flags.profile } : {}, context);
  const place = tokenPlace(settings);
  const token = await requireApiToken(place, context, savesToken);
  if (savesToken) {
    reporter.notice(`the Api-Token is saved in ${await saveApiToken(token, place, context)}`);
  }
  const journal = options.journal ?? defaultJournal(settings.profile, context);
  const listening = { ...options, token, journal };
  if (!recovery) return listen({ ...listening, recovery }, context, reporter);
  const { withService } = await import('../../sign-in/session.ts');
  const { foundEvents } = await import('../../webhooks/found-events.ts');
  const { EventFilters } = await import('../../events/event-filters.ts');
  await withService(call, async (service) => {
    const find = (from: number, until: number) => {
      const filters = new EventFilters({
        after: ago(from),
        ...(until === 0 ? {} : { before: ago(until) }),
      });
      return foundEvents({ service, filters, context, progress: SILENT, onDoubt: reporter.trace });
    };
    await listen({ ...listening, recovery: { ...recovery, find } }, context, reporter);
  });
}

const SILENT = { update: () => {} };

/** A time so many milliseconds ago, for a search. */
function ago(milliseconds: number) {
  const time = { kind: 'ago', seconds: milliseconds / 1000 } as const;
  return { flag: '--recover', text: durationText(milliseconds), time };
}

/** An empty host would mean every address of the machine. */
function hostFlag(text: string): string {
  // As in a URL (RFC 3986 section 3.2.2).
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (host.trim() !== '') return host;
  throw new UsageError(
    `--host: invalid value '${text}': must be a name or an address of this machine, such as 127.0.0.1`,
  );
}

/** A parser for a flag that names a path of the listener. */
function pathFlag(flag: string): (text: string) => string {
  return (text) => {
    if (/^\/[\x21\x22\x24-\x3e\x40-\x7e]*$/.test(text)) return text;
    throw new UsageError(`${flag}: invalid value '${text}': must be a path such as /events, without a query`);
  };
}
