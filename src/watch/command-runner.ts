import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Context, type Environment, SECRET_VARIABLES, type StartedProgram } from '../context.ts';
import { UsageError, unrunnableText } from '../errors.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { durationText } from '../time/lengths.ts';

export interface RepeatedCommandOptions {
  readonly words: readonly string[];
  /** Milliseconds after the first failure to keep retrying; `Infinity`: without limit. */
  readonly retryForMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Milliseconds that a command has to end by itself after the watch is stopped. */
const GRACE_MS = 10_000;
/** Milliseconds that it then has to obey SIGTERM. */
const LAST_GRACE_MS = 1_000;

type Surroundings = Pick<Context, 'environment' | 'clock' | 'signal' | 'startProgram' | 'atExit'>;

/**
 * Throws `UsageError` if there is no such program: otherwise the first event would reveal it, hours later.
 */
export async function requireProgram(
  name: string,
  { environment, machine }: Pick<Context, 'environment' | 'machine'>,
): Promise<void> {
  // On Windows the ending of a program's name is optional.
  if (machine.platform === 'win32') return;
  const search = environment['PATH'] ?? '/usr/bin:/bin';
  const folders = name.includes('/') ? ['.'] : search.split(path.delimiter);
  const found = await Promise.all(folders.map((folder) => isProgram(path.resolve(folder, name))));
  if (found.includes(true)) return;
  const code = found.includes(false) ? 'EACCES' : 'ENOENT';
  throw new UsageError(`cannot run '${name}': ${unrunnableText({ code })}`, {
    next: "give the program and its arguments after --; a line for the shell is run by -- sh -c 'LINE'",
  });
}

/** Returns undefined if there is no such file. */
async function isProgram(file: string): Promise<boolean | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  const mayRun = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return mayRun && found.isFile();
}

export interface CommandSubject {
  readonly name: string;
  /** Without a line feed at its end. */
  readonly input: Buffer;
  /** Undefined hides the value of an outer watch. */
  readonly variables: Environment;
}

/**
 * Runs a command for one subject after the other. A subject is handled when the command exits with 0; until
 * then it is run again.
 */
export class RepeatedCommand {
  readonly #options: RepeatedCommandOptions;
  readonly #context: Surroundings;
  readonly #reporter: Pick<Reporter, 'notice' | 'warning'>;
  readonly #givenUp: string[] = [];

  constructor(
    options: RepeatedCommandOptions,
    context: Surroundings,
    reporter: Pick<Reporter, 'notice' | 'warning'>,
  ) {
    this.#options = options;
    this.#context = context;
    this.#reporter = reporter;
  }

  get givenUp(): readonly string[] {
    return this.#givenUp;
  }

  /**
   * Resolves when the command has exited with 0 or the subject is given up; rejects when `signal` aborts. If
   * only the time of the watch is over, the running command may still end.
   */
  async handle(subject: CommandSubject, signal: AbortSignal): Promise<void> {
    const { retryForMs } = this.#options;
    const { clock } = this.#context;
    const { name } = subject;
    let firstFailedAt: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted();
      const failure = await this.#runOnce(subject);
      if (failure === undefined) return;
      // The command may have failed only because it was told to stop.
      this.#context.signal.throwIfAborted();
      firstFailedAt ??= clock.now();
      const left = firstFailedAt + retryForMs - clock.now();
      if (left <= 0) return this.#giveUp(name, failure);
      const wait = Math.min(pause, left);
      this.#noteRetry(name, failure, wait, left);
      await clock.sleep(wait, signal);
    }
  }

  #giveUp(name: string, failure: string): void {
    this.#givenUp.push(name);
    this.#reporter.warning(`${failure} for ${name}: given up, the watch goes on`, { kind: 'incomplete' });
  }

  #noteRetry(name: string, failure: string, waitMs: number, leftMs: number): void {
    const end = Number.isFinite(leftMs)
      ? `given up in ${secondsText(leftMs)}`
      : 'for ever, as no --retry-for is given';
    this.#reporter.warning(`${failure} for ${name}: run again in ${secondsText(waitMs)} (${end})`, {
      kind: 'incomplete',
    });
  }

  /** Returns the failure, or undefined if the command exited with 0. */
  async #runOnce({ name, input, variables }: CommandSubject): Promise<string | undefined> {
    const { environment, startProgram, atExit } = this.#context;
    const line = Buffer.concat([input, Buffer.from('\n')]);
    let program: StartedProgram | undefined;
    try {
      program = await startProgram(this.#options.words, environmentOf(environment, variables), line);
      // A second signal ends this process at once.
      const forget = atExit?.(() => program?.kill('SIGKILL'));
      const code = await this.#ended(program, name).finally(forget);
      return code === 0 ? undefined : `the command ended with ${code}`;
    } catch (error) {
      return `the command could not be started (${unrunnableText(error)})`;
    }
  }

  /** Waits for a program's end, and ends it if it takes too long after the watch was stopped. */
  async #ended(program: StartedProgram, name: string): Promise<number> {
    const { clock, signal } = this.#context;
    const over = new AbortController();
    const endInTime = async () => {
      this.#reporter.notice(
        `the command has ${durationText(GRACE_MS)} to end with ${name}; a second signal ends it at once`,
      );
      await clock.sleep(GRACE_MS, over.signal);
      program.kill('SIGTERM');
      await clock.sleep(LAST_GRACE_MS, over.signal);
      program.kill('SIGKILL');
    };
    // The sleeps reject when the program has ended.
    const onAbort = () => void endInTime().catch(() => undefined);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await program.ended;
    } finally {
      signal.removeEventListener('abort', onAbort);
      over.abort();
    }
  }
}

/** UTF-16 code units of a variable's value. No system starts a program with much longer ones. */
const LONGEST_VALUE_CHARACTERS = 8_000;

/** Returns undefined if a variable cannot hold the text. */
export function variableText(text: string | undefined): string | undefined {
  const canBeHeld = text !== undefined && text.length <= LONGEST_VALUE_CHARACTERS && !text.includes('\0');
  return canBeHeld ? text : undefined;
}

/** Drops our secrets and adds the event's variables; undefined hides the value of an outer watch. */
function environmentOf(environment: Environment, variables: Environment): Environment {
  const secrets = Object.fromEntries(SECRET_VARIABLES.map((name) => [name, undefined]));
  return { ...environment, ...secrets, ...variables };
}

function secondsText(milliseconds: number): string {
  return durationText(Math.max(1, Math.ceil(milliseconds / 1000)) * 1000);
}
