import { Agent } from 'node:http';
import path from 'node:path';
import { clock } from './clock.ts';
import { type HandlerServer, startHandler } from './handler.ts';
import { createHome, type Home } from './home.ts';
import type { Options, Running } from './process.ts';
import { hooktrail, type Result, startHooktrail } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { type Searching, startSearching } from './searching.ts';
import { ask, type PlainAnswer } from './server.ts';

export const API_TOKEN = 'the-right-token';

/** The answer to a delivery. */
export const accepted = { status: 200, body: '{"outcome":"accepted"}' };
export const duplicate = { status: 200, body: '{"outcome":"duplicate"}' };

/** `webhooks listen` as users run it, and a sender of deliveries. */
export interface Listening extends AsyncDisposable {
  readonly home: Home;
  readonly env: Readonly<Record<string, string>>;
  readonly journal: string;
  readonly port: number;
  readonly program: Pick<Running, 'stdout' | 'stderr' | 'printed' | 'kill' | 'closeStdout' | 'finished'>;
  /** Posts a delivery with the right token. `headers` replaces headers, or removes those that are undefined. */
  send(
    body: string | Buffer,
    headers?: Readonly<Record<string, string | undefined>>,
    target?: { method?: string; path?: string },
  ): Promise<PlainAnswer>;
  /** Ends the program with the signal and starts it again on the same port, with other flags if given. */
  restart(signal: NodeJS.Signals, flags?: readonly string[]): Promise<void>;
}

/** Runs the command in this process; `restart` accepts SIGINT and SIGTERM. */
export async function startListening(...flags: string[]): Promise<Listening> {
  return await listening(startHooktrail, flags);
}

/** Starts a listener by `start`: in this process, or as one of its own. */
export async function listening(
  start: typeof startHooktrail | ((args: readonly string[], options: Options) => Running),
  flags: readonly string[],
): Promise<Listening> {
  const home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const journal = path.join(home.folder, 'events.journal');
  const agent = new Agent({ keepAlive: true });
  let program = start(['webhooks', 'listen', '--port', '0', '--journal', journal, ...flags], { env });
  const port = await portOf(program);
  return {
    home,
    env,
    journal,
    port,
    get program() {
      return program;
    },
    send: (body, headers = {}, target = {}) => post(port, body, headers, target, agent),
    async restart(signal, others = flags) {
      program.kill(signal);
      await program.finished;
      program = start(['webhooks', 'listen', '--port', `${port}`, '--journal', journal, ...others], { env });
      await portOf(program);
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await ended(program);
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Ends a listener, and moves the clock on if it waits for a handler that never answers. */
export async function ended(program: Listening['program'] | Running): Promise<void> {
  let isOver = false;
  const finished = program.finished.then(() => {
    isOver = true;
  });
  program.kill('pid' in program ? 'SIGKILL' : 'SIGTERM');
  const goOn = () => {
    if (isOver) return;
    clock.advance(10_000);
    setTimeout(goOn, 20);
  };
  if (!('pid' in program)) setTimeout(goOn, 20);
  await finished;
}

export async function portOf(program: Pick<Running, 'printed'>): Promise<number> {
  const [, port] = await program.printed('stderr', /listening on http:\/\/[^ ]+:(\d+)\//);
  return Number(port);
}

/** Rejects if the connection breaks before an answer. */
export function post(
  port: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string | undefined>> = {},
  { method = 'POST', path: target = '/' } = {},
  agent?: Agent,
): Promise<PlainAnswer> {
  const all = { 'content-type': 'application/json', 'api-token': API_TOKEN, ...headers };
  return ask(`http://127.0.0.1:${port}`, { method, target, headers: all, body, agent });
}

/**
 * Returns the number of requests that wait for their answer, including this one. For a listener with `--health
 * /health`.
 */
export async function underWay(listening: Listening): Promise<number> {
  const { body } = await listening.send('', {}, { method: 'GET', path: '/health' });
  return JSON.parse(body).underWay;
}

/** A sandbox with events, a handler, and `webhooks recover` between them. */
export interface Recovering extends AsyncDisposable {
  readonly searching: Searching;
  readonly handler: HandlerServer;
  readonly env: Readonly<Record<string, string>>;
  readonly journal: string;
  /** The command line of `recover`, for the sandbox's whole history. */
  args(...flags: string[]): string[];
  recover(...flags: string[]): Promise<Result>;
  /** The command line of a listener with the same journal and handler. */
  listenArgs(...flags: string[]): string[];
}

export async function startRecovering(options: SandboxOptions = {}): Promise<Recovering> {
  const searching = await startSearching({ events: 60, ...options });
  const handler = await startHandler();
  const env = { ...searching.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const journal = path.join(searching.env['HOME'] as string, 'events.journal');
  const args = (...flags: string[]) => [
    ...['webhooks', 'recover', '--after', '60d', '--journal', journal, '--forward-to', handler.url],
    ...flags,
  ];
  return {
    searching,
    handler,
    env,
    journal,
    args,
    recover: (...flags) => hooktrail(args(...flags), { env }),
    listenArgs: (...flags) => [
      ...['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url],
      ...flags,
    ],
    async [Symbol.asyncDispose]() {
      await handler[Symbol.asyncDispose]();
      await searching[Symbol.asyncDispose]();
    },
  };
}
