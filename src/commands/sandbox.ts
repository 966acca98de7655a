import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { share, wholeNumber } from '../config/numbers.ts';
import { UsageError } from '../errors.ts';
import type { SandboxOptions } from '../sandbox/sandbox.ts';

interface Flags {
  readonly port?: number;
  readonly events?: number;
  readonly seed?: number;
  readonly latency?: number;
  readonly tokenLifetime?: number;
  readonly autoApprove?: true;
  readonly rateLimit?: number;
  readonly faultRate?: number;
  readonly json?: true;
}

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
    .option('--json', 'print the settings as one line of JSON')
    .addHelpText(
      'after',
      `
Runs until it is stopped with Ctrl-C. Prints the settings to use it, as export lines for a shell.

Examples:
  $ hooktrail sandbox --events 200000
  $ hooktrail sandbox --auto-approve --token-lifetime 90`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  const { exportLines } = await import('../config/export-lines.ts');
  const sandbox = await startSandbox(sandboxOptions(flags)).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new UsageError(`--port: ${flags.port} is taken`, { next: 'choose another port, or leave --port out' })
      : error;
  });
  try {
    const { settings } = sandbox;
    await context.stdout.write(flags.json ? `${JSON.stringify(settings)}\n` : exportLines(settings));
    reporter.notice(`the sandbox runs at ${settings.baseUrl}; stop it with Ctrl-C`);
    await aborted(context.signal);
  } finally {
    await sandbox.close();
  }
}

function sandboxOptions({ latency, tokenLifetime, json: _json, ...rest }: Flags): SandboxOptions {
  return {
    ...rest,
    ...(latency === undefined ? {} : { latencyMs: latency }),
    ...(tokenLifetime === undefined ? {} : { tokenLifetimeSeconds: tokenLifetime }),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
