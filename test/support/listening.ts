import { Agent } from 'node:http';
import path from 'node:path';
import { clock } from './clock.ts';
import { startHandler } from './handler.ts';
import { createHome } from './home.ts';
import { freePort } from './ports.ts';
import type { Options, Result, Running } from './process.ts';
import { hooktrail, startHooktrail } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { startSearching } from './searching.ts';
import { ask, type PlainAnswer } from './server.ts';

export const API_TOKEN = 'the-right-token';

/** The answer to a delivery. */
export const accepted = { status: 200, body: '{"outcome":"accepted"}' };
export const duplicate = { status: 200, body: '{"outcome":"duplicate"}' };

type Listener = Pick<Running, 'stdout' | 'stderr' | 'printed' | 'kill' | 'closeStdout' | 'finished'>;

/** Runs `webhooks listen` in this process; `restart` accepts SIGINT and SIGTERM. */
export async function startListening(...flags: string[]) {
  return await listening(startHooktrail, flags);
}

/**
 * `webhooks listen` as users run it, started by `start` in this process or as one of its own, and a sender of
 * deliveries.
 */
export async function listening<Program extends Listener>(
  start: (args: readonly string[], options: Options) => Program,
  flags: readonly string[],
) {
  const home = await createHome();
  const env: Readonly<Record<string, string>> = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const journal = path.join(home.folder, 'events.journal');
  const agent = new Agent({ keepAlive: true });
  // A port that the system assigned could be another program's by the time of a restart.
  const args = ['webhooks', 'listen', '--port', `${await freePort()}`, '--journal', journal];
  let program = start([...args, ...flags], { env });
  const port = await portOf(program);
  return {
    home,
    env,
    journal,
    port,
    get program() {
      return program;
    },
    /**
     * Posts a delivery with the right token. `headers` replaces headers, or removes those that are undefined.
     */
    send: (body: string | Buffer, headers: Headers = {}, target: { method?: string; path?: string } = {}) =>
      post(port, body, headers, target, agent),
    /** Ends the program with the signal and starts it again on the same port, with other flags if given. */
    async restart(signal: NodeJS.Signals, others = flags) {
      program.kill(signal);
      await program.finished;
      program = start([...args, ...others], { env });
      await portOf(program);
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await ended(program);
      await home[Symbol.asyncDispose]();
    },
  };
}

type Listening = Awaited<ReturnType<typeof listening<Listener>>>;

/** Ends a listener, and moves the clock on if it waits for a handler that never answers. */
export async function ended(program: Listener | Running): Promise<void> {
  program.kill('pid' in program ? 'SIGKILL' : 'SIGTERM');
  if ('pid' in program) await program.finished;
  else await hurried(program);
}

/** Moves the clock on until a program in this process has ended, which waits for what never comes. */
export async function hurried({ finished }: Pick<Running, 'finished'>): Promise<Result> {
  let isOver = false;
  const goOn = () => {
    if (isOver) return;
    clock.advance(10_000);
    setTimeout(goOn, 20);
  };
  setTimeout(goOn, 20);
  return await finished.finally(() => {
    isOver = true;
  });
}

export async function portOf(program: Pick<Running, 'printed'>): Promise<number> {
  const [, port] = await program.printed('stderr', /listening on http:\/\/[^ ]+:(\d+)\//);
  return Number(port);
}

type Headers = Readonly<Record<string, string | undefined>>;

/** Rejects if the connection breaks before an answer. */
export function post(
  port: number,
  body: string | Buffer,
  headers: Headers = {},
  { method = 'POST', path: target = '/' } = {},
  agent?: Agent,
): Promise<PlainAnswer> {
  const all = { 'content-type': 'application/json', 'api-token': API_TOKEN, ...headers };
  return ask(`http://127.0.0.1:${port}`, { method, target, headers: all, body, agent });
}

/** Returns the number of deliveries that wait for their answer. For a listener with `--health /health`. */
export async function underWay(listening: Pick<Listening, 'send'>): Promise<number> {
  const { body } = await listening.send('', {}, { method: 'GET', path: '/health' });
  return JSON.parse(body).underWay;
}

/** A sandbox with events, a handler, and `webhooks recover` between them. */
export async function startRecovering(options: SandboxOptions = {}) {
  const searching = await startSearching({ events: 60, ...options });
  const handler = await startHandler();
  const env: Readonly<Record<string, string>> = { ...searching.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const journal = path.join(searching.env['HOME'] as string, 'events.journal');
  /** The command line of `recover`, for the sandbox's whole history. */
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
    recover: (...flags: string[]) => hooktrail(args(...flags), { env }),
    /** The command line of a listener with the same journal and handler. */
    listenArgs: (...flags: string[]) => [
      ...['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url],
      ...flags,
    ],
    async [Symbol.asyncDispose]() {
      await handler[Symbol.asyncDispose]();
      await searching[Symbol.asyncDispose]();
    },
  };
}

export type Recovering = Awaited<ReturnType<typeof startRecovering>>;
