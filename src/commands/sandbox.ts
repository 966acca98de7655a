import type { Command } from 'commander';
import { type Action, type Call, untilStopped } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { DeliveryOptions, SandboxOptions } from '../sandbox/sandbox.ts';
import { share, wholeNumber } from '../settings/flag-values.ts';
import { handlerUrl } from '../webhooks/flags.ts';

interface Flags {
  readonly port?: number;
  readonly events?: number;
  readonly seed?: number;
  readonly latency?: number;
  readonly tokenLifetime?: number;
  readonly autoApprove?: true;
  readonly rateLimit?: number;
  readonly faultRate?: number;
  readonly deliverTo?: URL;
  readonly apiToken?: string;
  readonly duplicates?: number;
  readonly deliveryRate?: number;
  readonly json?: true;
}

const DELIVERY_RATE = 1;

export function declare(command: Command, action: Action): void {
  command
    .option(
      '--port <number>',
      'listen on this port of 127.0.0.1 (default: a free one)',
      wholeNumber('--port', 0, 65_535),
    )
    .option(
      '--events <number>',
      'events in the seeded history (default: 5000)',
      wholeNumber('--events', 0, 5_000_000),
    )
    .option(
      '--seed <number>',
      'another seed is another history (default: 1)',
      wholeNumber('--seed', 0, 4_294_967_295),
    )
    .option(
      '--latency <ms>',
      'wait this long before each answer about events',
      wholeNumber('--latency', 0, 600_000),
    )
    .option(
      '--token-lifetime <s>',
      'seconds an access token lives (default: 1800)',
      wholeNumber('--token-lifetime', 1),
    )
    .option('--auto-approve', 'approve sign-ins without a click')
    .option(
      '--rate-limit <number>',
      'answer 429 to more requests a second than this',
      wholeNumber('--rate-limit', 1),
    )
    .option(
      '--fault-rate <share>',
      'share of requests about events that fail, from 0 to 1',
      share('--fault-rate'),
    )
    .option('--deliver-to <url>', 'post new events to this webhook', handlerUrl('--deliver-to'))
    .option('--api-token <token>', 'what deliveries carry as Api-Token [HOOKTRAIL_API_TOKEN]')
    .option('--duplicates <share>', 'share of events delivered twice, from 0 to 1', share('--duplicates'))
    .option(
      '--delivery-rate <number>',
      `new events a second, 1 to 1000 (default: ${DELIVERY_RATE})`,
      wholeNumber('--delivery-rate', 1, 1_000),
    )
    .option('--json', 'print the settings as one line of JSON')
    .addHelpText(
      'after',
      `
Runs until it is stopped with Ctrl-C. Prints the settings to use it, as export
lines for a shell.

Examples:
  $ hooktrail sandbox --events 200000
  $ hooktrail sandbox --auto-approve --token-lifetime 90
  $ hooktrail sandbox --deliver-to http://127.0.0.1:8977/ --api-token s3cret`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  const { exportLines } = await import('../settings/sandbox-environment.ts');
  const deliveries = deliveryOptions(flags, context.environment['HOOKTRAIL_API_TOKEN']);
  const options = {
    ...sandboxOptions(flags),
    ...(deliveries ? { deliveries, rate: flags.deliveryRate ?? DELIVERY_RATE } : {}),
  };
  const sandbox = await startSandbox(options).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new UsageError(`--port: ${flags.port} is taken`, { next: 'choose another port, or leave --port out' })
      : error;
  });
  try {
    const { settings } = sandbox;
    await context.stdout.write(flags.json ? `${JSON.stringify(settings)}\n` : exportLines(settings));
    reporter.notice(`the sandbox runs at ${settings.baseUrl}; stop it with Ctrl-C`);
    await untilStopped(context.signal);
  } finally {
    await sandbox.close();
  }
}

function deliveryOptions(flags: Flags, variable: string | undefined): DeliveryOptions | undefined {
  const { deliverTo, apiToken, duplicates } = flags;
  if (deliverTo === undefined) {
    for (const name of ['api-token', 'duplicates', 'delivery-rate'] as const) {
      const key = name.replace(/-(.)/, (_, letter: string) => letter.toUpperCase()) as keyof Flags;
      if (flags[key] !== undefined)
        throw new UsageError(`--${name} needs --deliver-to: the webhook to post to`);
    }
    return undefined;
  }
  const token = apiToken ?? variable;
  if (token && /^[\x21-\x7e]+$/.test(token)) {
    return { url: deliverTo.href, apiToken: token, duplicates };
  }
  throw new UsageError(
    token
      ? '--api-token: invalid token: must be printable ASCII characters without spaces'
      : '--deliver-to needs --api-token (or HOOKTRAIL_API_TOKEN): what deliveries carry as Api-Token',
  );
}

function sandboxOptions(flags: Flags): SandboxOptions {
  const { latency, tokenLifetime, json: _json, ...given } = flags;
  const { deliverTo: _to, apiToken: _token, duplicates: _share, deliveryRate: _rate, ...rest } = given;
  return {
    ...rest,
    ...(latency === undefined ? {} : { latencyMs: latency }),
    ...(tokenLifetime === undefined ? {} : { tokenLifetimeSeconds: tokenLifetime }),
  };
}
