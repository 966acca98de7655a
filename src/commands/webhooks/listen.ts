import type { Command } from 'commander';
import { type Action, type Call, untilStopped } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { duration, wholeNumber } from '../../settings/flag-values.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import {
  byteSize,
  type ForwardFlags,
  forwardTimeout,
  forwardTimeoutOf,
  handlerUrl,
  journalFlag,
} from '../../webhooks/flags.ts';

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
}

const PORT = 8977;
const HOST = '127.0.0.1';
const MAX_BODY = 10 * 1024 * 1024;
const REQUEST_TIMEOUT = 30;
/** Milliseconds that deliveries under way get when the program is stopped, and then to be answered that it ends. */
const GRACE = 10_000;
const FAREWELL = 1_000;
/** Who stops the program is told what it waits for when that takes longer than this. */
const PATIENCE = 1_000;

export function declare(command: Command, action: Action): void {
  command
    .option('--port <number>', `the port to listen on (default: ${PORT})`, wholeNumber('--port', 0, 65_535))
    .option('--host <address>', `the address to listen on (default: ${HOST})`, hostFlag)
    .option('--path <path>', 'the path that deliveries are posted to (default: /)', pathFlag)
    .option('--forward-to <url>', 'hand each event to this handler', handlerUrl('--forward-to'))
    .option(
      '--journal <file>',
      'remembers what was accepted (default: one a profile, beside the settings)',
      journalFlag,
    )
    .option(
      '--keep <time>',
      'forget ids after this time, such as 30d (default: never)',
      duration('--keep', 1000, Number.POSITIVE_INFINITY),
    )
    .option('--max-body <size>', 'the largest delivery taken (default: 10mb)', byteSize('--max-body'))
    .option('--save-token', 'save the Api-Token where secrets live, for the next time')
    .addOption(forwardTimeout())
    .option(
      '--request-timeout <s>',
      `seconds a sender has for a whole delivery (default: ${REQUEST_TIMEOUT})`,
      wholeNumber('--request-timeout', 1, 3_600),
    )
    .addHelpText(
      'after',
      `
Prints each accepted delivery as one line of JSON. A sender hears 200 only when
the handler has answered 2xx and the journal holds the eventId on disk, 502
otherwise; an eventId that is known is answered 200 and not handed on. The
expected Api-Token comes from HOOKTRAIL_API_TOKEN, from where --save-token put
it, or from a hidden prompt.

Examples:
  $ hooktrail webhooks listen --forward-to http://127.0.0.1:3000/hooks
  $ hooktrail webhooks listen --save-token | jq .eventType
  $ hooktrail webhooks listen --host 0.0.0.0 --port 8080 --path /in --keep 30d`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context, reporter } = call;
  const { loadSettings } = await import('../../settings/settings.ts');
  const { requireApiToken, saveApiToken, tokenPlace } = await import('../../webhooks/api-token.ts');
  const { defaultJournal } = await import('../../webhooks/journal/default.ts');
  const settings = await loadSettings(flags.profile ? { profile: flags.profile } : {}, context);
  const place = tokenPlace(settings);
  const token = await requireApiToken(place, context, flags.saveToken);
  if (flags.saveToken) {
    reporter.notice(`the Api-Token is saved in ${await saveApiToken(token, place, context)}`);
  }
  await listen(call, token, flags.journal ?? (await defaultJournal(settings.profile, context)));
}

async function listen({ flags, context, reporter }: Call<Flags>, token: string, file: string): Promise<void> {
  const { KeptJournal } = await import('../../webhooks/journal/kept-journal.ts');
  const { LineWriter } = await import('../../webhooks/listen/line-writer.ts');
  const { ProblemLog } = await import('../../webhooks/listen/problem-log.ts');
  const { createAcceptance } = await import('../../webhooks/listen/acceptance.ts');
  const { createHandler } = await import('../../webhooks/forward.ts');
  const { startReceiver } = await import('../../webhooks/listen/receiver.ts');
  const { kept: journal, opened } = await KeptJournal.open(file, flags.keep, context);
  const { forwardTo, host = HOST, port = PORT, path = '/' } = flags;
  const timeout = forwardTimeoutOf(flags);
  const handler = forwardTo && createHandler(forwardTo, timeout, context);
  const lines = new LineWriter(context.stdout);
  const problems = new ProblemLog(reporter);
  const accept = createAcceptance({ journal, handler, lines, onProblem: (text) => problems.report(text) });
  let slow: NodeJS.Timeout | undefined;
  let giveUp: NodeJS.Timeout | undefined;
  try {
    if (opened.damaged > 0) {
      reporter.warning(`${opened.damaged} bytes of ${file} belong to no record and are passed over`);
    }
    const receiver = await startReceiver({
      host,
      port,
      path,
      token,
      maxBody: flags.maxBody ?? MAX_BODY,
      requestTimeout: (flags.requestTimeout ?? REQUEST_TIMEOUT) * 1000,
      accept,
      onRefusal: ({ status, message }) => problems.report(`refused with ${status}: ${message}`),
      ...(reporter.verbose ? { onAnswer: (answer) => reporter.trace(Object.values(answer).join(' ')) } : {}),
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    const shown = host.includes(':') ? `[${host}]` : host;
    const known = opened.journal.size;
    reporter.notice(
      `listening on http://${shown}:${receiver.port}${path}; ${known} known ${known === 1 ? 'id' : 'ids'} in ${opened.journal.path}; stop with Ctrl-C`,
    );
    try {
      await Promise.race([untilStopped(context.signal), journal.failed]);
    } finally {
      slow = setTimeout(() => {
        if (receiver.underWay > 0) reporter.notice(waiting(receiver.underWay));
      }, PATIENCE);
      // A handler that still says nothing then has not taken what it was given.
      giveUp = setTimeout(() => void handler?.close(), GRACE);
      await receiver.stop(GRACE + FAREWELL);
    }
  } finally {
    await journal.close();
    clearTimeout(slow);
    clearTimeout(giveUp);
    problems.close();
    await handler?.close();
    await lines.flushed().catch(() => undefined);
  }
}

/** An empty one would be every address that the machine has. */
function hostFlag(text: string): string {
  // As in a URL (RFC 3986 section 3.2.2).
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (host.trim() !== '') return host;
  throw new UsageError(
    `--host: invalid value '${text}': must be a name or an address of this machine, such as 127.0.0.1`,
  );
}

function pathFlag(text: string): string {
  if (/^\/[\x21\x22\x24-\x3e\x40-\x7e]*$/.test(text)) return text;
  throw new UsageError(`--path: invalid value '${text}': must be a path such as /events, without a query`);
}

function unusableAddress(error: NodeJS.ErrnoException, port: number, host: string): unknown {
  const { code, message } = error;
  if (code === 'EADDRINUSE')
    return new UsageError(`--port: ${port} is taken`, { next: 'choose another port' });
  if (code === 'EACCES') return new UsageError(`--port: ${port} is not this user's to listen on`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new UsageError(`--host: '${host}' is no address of this machine`, { details: [message] });
  }
  return error;
}

function waiting(count: number): string {
  return `waiting up to ${GRACE / 1000} s for ${count} ${count === 1 ? 'delivery' : 'deliveries'} under way`;
}
