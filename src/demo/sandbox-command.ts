import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { JWK } from 'oidc-provider';
import { type Call, untilStopped } from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode, UsageError, unrunnableText } from '../errors.ts';
import type { DeliveryOptions } from '../sandbox/deliveries.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { RenewHeader, SandboxOptions, SandboxSettings } from '../sandbox/sandbox-options.ts';
import type { ShapeName } from '../sandbox/shapes/service-shape.ts';
import { decimalNumber, duration, oneOf, share, wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { handlerUrl } from '../webhooks/webhook-flags.ts';
import type { SandboxUser } from './sandbox-user.ts';

interface Flags {
  readonly port?: number;
  readonly events?: number;
  readonly seed?: number;
  readonly shape?: ShapeName;
  readonly latency?: number;
  readonly tokenLifetime?: number;
  readonly autoApprove?: true;
  readonly clientKey?: string;
  readonly requirePushedRequests?: true;
  readonly renewHeader?: RenewHeader;
  readonly rateLimit?: number;
  readonly faultRate?: number;
  readonly rate?: number;
  readonly deliverTo?: URL;
  readonly apiToken?: string;
  readonly duplicates?: number;
  readonly json?: true;
}

const DELIVERY_RATE = 1;

export const commonFlags =
  '--port --events --auto-approve --rate --latency --token-lifetime --rate-limit --fault-rate --deliver-to --api-token --json';

export const help = `
Runs until it is stopped with Ctrl-C. Prints the settings for using it, as
export lines for a shell.

With a COMMAND it runs that command, signed in to the sandbox, with settings and
secrets in a temporary folder, and exits with its exit code.`;

export const examples = [
  "hooktrail sandbox -- sh -c 'hooktrail events search --failed'",
  'hooktrail sandbox --events 200000',
  'hooktrail sandbox --auto-approve --token-lifetime 90 --rate 5',
  'hooktrail sandbox --deliver-to http://127.0.0.1:8977/ --api-token s3cret',
];

export function declare(command: Command): void {
  const addNumber = (
    name: string,
    description: string,
    { preset, lowest, highest }: { preset?: string | number; lowest: number; highest?: number },
  ) => {
    const parse = wholeNumber(name, lowest, highest);
    command.addOption(new Flag(`${name} <number>`, description, { preset }, parse));
  };
  command.argument('[command...]', 'a command to run signed in, after --');
  const port = { preset: 'a free one', lowest: 0, highest: 65_535 };
  addNumber('--port', 'listen on this port of 127.0.0.1', port);
  addNumber('--events', 'events in the seeded history', { preset: 5000, lowest: 0, highest: 5_000_000 });
  addNumber('--seed', 'another seed gives another history', { preset: 1, lowest: 0, highest: 4_294_967_295 });
  command
    .addOption(
      new Flag(
        '--shape <shape>',
        'published, or flat with details of deliveries',
        { preset: 'published' },
        oneOf<ShapeName>('--shape', ['published', 'flat']),
      ),
    )
    .option(
      '--latency <ms>',
      'wait this long before each answer about events; also 2s',
      duration('--latency', 0, 600_000, 'ms'),
    )
    .addOption(
      new Flag(
        '--token-lifetime <s>',
        'how long an access token lives, in seconds or as 2m',
        { preset: 1800 },
        duration('--token-lifetime', 1_000, Number.POSITIVE_INFINITY, 's'),
      ),
    )
    .option('--auto-approve', 'approve sign-ins without a click')
    .option('--client-key <file>', 'add a client hooktrail-sandbox-key with this key (PEM or JWK)')
    .option('--require-pushed-requests', 'refuse a sign-in that was not pushed (RFC 9126)')
    .addOption(
      new Flag(
        '--renew-header <name>',
        'the header of a renewed token: Api-Key or Api-Token',
        { preset: 'Api-Key' },
        oneOf<RenewHeader>('--renew-header', ['Api-Key', 'Api-Token']),
      ),
    );
  addNumber('--rate-limit', 'answer 429 to more requests per second than this', { lowest: 1 });
  const failing = 'share of requests about events that fail, from 0 to 1';
  command.option('--fault-rate <share>', failing, share('--fault-rate'));
  const rate = { preset: `none; ${DELIVERY_RATE} with --deliver-to` };
  const parseRate = decimalNumber('--rate', 0.01, 1_000);
  command
    .addOption(new Flag('--rate <number>', 'new events per second, 0.01 to 1000', rate, parseRate))
    .option('--deliver-to <url>', 'post new events to this webhook', handlerUrl('--deliver-to'))
    .addOption(
      new Flag('--api-token <token>', 'the Api-Token of deliveries', { variables: ['HOOKTRAIL_API_TOKEN'] }),
    )
    .option('--duplicates <share>', 'share of events delivered twice, from 0 to 1', share('--duplicates'))
    .option('--json', 'print the settings as one line of JSON');
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, args, context } = call;
  if (args.length > 0 && flags.json)
    throw new UsageError(
      '--json and a command contradict each other: the command gets the settings in its environment',
    );
  const [word = ''] = args;
  if (args.length === 1 && /^\d+$/.test(word))
    throw new UsageError(`sandbox takes a command after --, but was given '${word}'`, {
      correction: { typed: word, meant: '--port', followedBy: [word] },
    });
  const [{ startSandbox }, { createSandboxUser, shellLines }] = await Promise.all([
    import('../sandbox/sandbox.ts'),
    import('./sandbox-user.ts'),
  ]);
  const options = await sandboxOptions(flags, context);
  // Any port will do for the sign-in, so that several of them can run side by side.
  const forCommand = args.length > 0 ? { redirectUri: 'http://127.0.0.1:0/callback' } : {};
  const sandbox = await startSandbox({ ...options, ...forCommand }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new UsageError(`--port: ${flags.port} is taken`, { next: 'choose another port, or leave --port out' })
      : error;
  });
  const { settings } = sandbox;
  const user = await createSandboxUser(context, sandbox);
  try {
    if (args.length > 0) return await runCommand(args, sandbox, user, options.deliveries?.apiToken, call);
    const lines = flags.json ? `${JSON.stringify(settings)}\n` : shellLines(user.variables, context);
    await context.stdout.write(lines);
    sayHowToUse(settings, call);
    return await untilStopped(context.signal);
  } finally {
    await sandbox.close();
    await user.remove();
  }
}

function sayHowToUse({ baseUrl }: SandboxSettings, { flags, context, reporter }: Call<Flags>): void {
  const { stdout, environment, machine } = context;
  if (stdout.isTerminal && !flags.json) {
    const shell = machine.platform === 'win32' ? 'powershell' : path.basename(environment['SHELL'] || 'sh');
    reporter.notice(
      `\nPaste these lines into another terminal and type \`hooktrail login\` there.\nOr stop this sandbox: \`hooktrail sandbox -- ${shell}\` is a shell signed in to one.`,
    );
  }
  reporter.notice(`the sandbox runs at ${baseUrl}; stop it with Ctrl-C`);
}

/** Runs a command that is signed in to the sandbox; returns its exit code. */
async function runCommand(
  words: readonly string[],
  { behaviour }: Sandbox,
  user: SandboxUser,
  apiToken: string | undefined,
  { context, invoke }: Call<Flags>,
): Promise<ExitCode> {
  const { autoApprove } = behaviour;
  behaviour.autoApprove = true;
  let said = '';
  const write = async (text: string | Uint8Array) => {
    said += String(text);
  };
  const code = await invoke(['login'], { ...user.context, stderr: { ...context.stderr, write } });
  if (code !== ExitCode.done) {
    await context.stderr.write(said);
    return code;
  }
  behaviour.autoApprove = autoApprove;
  const environment = { ...user.environment, ...(apiToken ? { HOOKTRAIL_API_TOKEN: apiToken } : {}) };
  return (await context.runProgram(words, environment).catch((error) => {
    throw new UsageError(`cannot run '${words[0]}': ${unrunnableText(error)}`, { cause: error });
  })) as ExitCode;
}

/** @throws UsageError for flags that do not go together. */
async function sandboxOptions(flags: Flags, context: Context): Promise<SandboxOptions> {
  const { latency, tokenLifetime, rate, clientKey, ...others } = flags;
  const deliveries = await deliveryOptions(flags, context);
  return {
    ...others,
    latencyMs: latency,
    tokenLifetimeSeconds: tokenLifetime === undefined ? undefined : tokenLifetime / 1_000,
    rate: rate ?? (deliveries ? DELIVERY_RATE : undefined),
    deliveries,
    clientKey: clientKey === undefined ? undefined : await publicKeyIn(clientKey),
    now: () => context.clock.now(),
  };
}

/** Returns the public half of a key in a file: PEM or JWK, private or public. Throws `UsageError`. */
async function publicKeyIn(file: string): Promise<JWK> {
  try {
    const text = await readFile(file, 'utf8');
    const isJwk = text.trimStart().startsWith('{');
    const jwk = isJwk ? JSON.parse(text) : undefined;
    const key = createPublicKey(jwk ? { key: jwk, format: 'jwk' } : text);
    const { kid } = jwk ?? {};
    return { ...(key.export({ format: 'jwk' }) as JWK), ...(kid === undefined ? {} : { kid }) };
  } catch {
    throw new UsageError(`--client-key: ${file} cannot be read as a key: must be PEM or a JWK`);
  }
}

async function deliveryOptions(flags: Flags, context: Context): Promise<DeliveryOptions | undefined> {
  const { deliverTo, duplicates } = flags;
  if (deliverTo === undefined) {
    const needing = { 'api-token': flags.apiToken, duplicates: flags.duplicates };
    for (const [name, value] of Object.entries(needing)) {
      if (value !== undefined) throw new UsageError(`--${name} needs --deliver-to: the webhook to post to`);
    }
    return undefined;
  }
  const { givenSecret } = await import('../secrets/given-secret.ts');
  const apiToken = flags.apiToken ?? (await givenSecret('HOOKTRAIL_API_TOKEN', context));
  if (!apiToken)
    throw new UsageError(
      '--deliver-to needs --api-token (or HOOKTRAIL_API_TOKEN): the Api-Token of deliveries',
    );
  if (!/^[\x21-\x7e]+$/.test(apiToken))
    throw new UsageError('--api-token: invalid token: must be printable ASCII characters without spaces');
  return { url: deliverTo.href, apiToken, duplicates };
}
