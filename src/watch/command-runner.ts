import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Context, type Environment, SECRET_VARIABLES, type StartedProgram } from '../context.ts';
import { UsageError, unrunnableText } from '../errors.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { durationText } from '../time/lengths.ts';

/** A command that a watch runs for each event, or for each change. */
export interface RepeatedCommandOptions {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /**
   * Milliseconds after its first failure in which it is run again for the same subject; `Infinity`: for ever.
   */
  readonly retryForMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** The time that a command has to end by itself when the watch is told to end. */
const GRACE_MS = 10_000;
/** The time that it then has to obey SIGTERM. */
const LAST_GRACE_MS = 1_000;

type Surroundings = Pick<Context, 'environment' | 'clock' | 'signal' | 'startProgram' | 'atExit'>;

/**
 * Throws `UsageError` if there is no such program: otherwise the first event would show that, hours later.
 */
export async function requireProgram(
  name: string,
  { environment, machine }: Pick<Context, 'environment' | 'machine'>,
): Promise<void> {
  // On Windows a program's name may be typed without its ending.
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

/** True if a file can be run; undefined if there is none. */
async function isProgram(file: string): Promise<boolean | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  const mayRun = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return mayRun && found.isFile();
}

/** The event or change that a command is run for. */
export interface CommandSubject {
  /** Its name in messages: `event ID`. */
  readonly name: string;
  /** Standard input, without the line feed at its end. */
  readonly input: Buffer;
  /** One that is undefined hides that of an outer watch. */
  readonly variables: Environment;
}

/**
 * Runs a command for one subject after the other. A subject is handled when the command has ended with 0;
 * until then it is run again.
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

  /** The names of the subjects that were given up. */
  get givenUp(): readonly string[] {
    return this.#givenUp;
  }

  /**
   * Resolves when the command has ended with 0 or the subject is given up; rejects when `signal` aborts,
   * which the command itself outlives for a while if only the time of the watch is over.
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
      // Told to end, it may have failed for that reason alone.
      this.#context.signal.throwIfAborted();
      firstFailedAt ??= clock.now();
      const left = firstFailedAt + retryForMs - clock.now();
      if (left <= 0) return this.#giveUp(name, failure);
      const wait = Math.min(pause, left);
      this.#tellOfRetry(name, failure, wait, left);
      await clock.sleep(wait, signal);
    }
  }

  #giveUp(name: string, failure: string): void {
    this.#givenUp.push(name);
    this.#reporter.warning(`${failure} for ${name}: given up, the watch goes on`, { kind: 'incomplete' });
  }

  #tellOfRetry(name: string, failure: string, waitMs: number, leftMs: number): void {
    const end = Number.isFinite(leftMs)
      ? `given up in ${secondsText(leftMs)}`
      : 'for ever, as no --retry-for is given';
    this.#reporter.warning(`${failure} for ${name}: run again in ${secondsText(waitMs)} (${end})`, {
      kind: 'incomplete',
    });
  }

  /** Runs the command to its end. Returns what went wrong, or undefined if it ended with 0. */
  async #runOnce({ name, input, variables }: CommandSubject): Promise<string | undefined> {
    const { environment, startProgram, atExit } = this.#context;
    // A line, as programs that read text expect it.
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

  /** Waits for the end of a program, and ends it if it takes too long after the watch was told to end. */
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

/** UTF-16 code units of a variable's value. A system starts no program that has much longer ones. */
const LONGEST_VALUE_CHARACTERS = 8_000;

/** The text if a variable can hold it. */
export function variableText(text: string | undefined): string | undefined {
  const canBeHeld = text !== undefined && text.length <= LONGEST_VALUE_CHARACTERS && !text.includes('\0');
  return canBeHeld ? text : undefined;
}

/**
 * Ours without its secrets, and with the event's variables. One that is undefined hides that of an outer
 * watch.
 */
function environmentOf(environment: Environment, variables: Environment): Environment {
  const secrets = Object.fromEntries(SECRET_VARIABLES.map((name) => [name, undefined]));
  return { ...environment, ...secrets, ...variables };
}

/** Whole seconds, and at least one. */
function secondsText(milliseconds: number): string {
  return durationText(Math.max(1, Math.ceil(milliseconds / 1000)) * 1000);
}
