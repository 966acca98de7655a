import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { advise, hooktrail } from '../advice.ts';
import { type Context, type Environment, SECRET_VARIABLES, type StartedProgram } from '../context.ts';
import { fewOf, ServiceError, UsageError, unrunnableText } from '../errors.ts';
import { memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { createCursor } from '../items/known-cursor.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { durationText } from '../time/lengths.ts';

/** A command that a watch runs for each event. */
export interface EventCommandOptions {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /**
   * Milliseconds after its first failure in which it is run again for the same event; `Infinity`: for ever.
   */
  readonly retryForMs: number;
}

/** The variables that hold the known fields of the event. */
const FIELD_OF_VARIABLE = {
  HOOKTRAIL_EVENT_ID: 'eventId',
  HOOKTRAIL_EVENT_TYPE: 'eventType',
  HOOKTRAIL_EVENT_SUBSCRIPTION_ID: 'subscriptionId',
  HOOKTRAIL_EVENT_CREATED_ON: 'createdOn',
  HOOKTRAIL_EVENT_PUBLISH_STATUS: 'publishStatus',
} as const;
const VARIABLES = Object.keys(FIELD_OF_VARIABLE);

/** UTF-16 code units of a variable's value. A system starts no program that has much longer ones. */
const LONGEST_VALUE_CHARACTERS = 8_000;

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

/** Whether a file can be run; undefined if there is none. */
async function isProgram(file: string): Promise<boolean | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  const mayRun = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return mayRun && found.isFile();
}

/**
 * Runs a command for one event after the other: the item is its standard input, and the known fields are
 * variables. An event is handled when the command has ended with 0; until then it is run again.
 */
export class EventCommand {
  readonly #options: EventCommandOptions;
  readonly #context: Surroundings;
  readonly #reporter: Pick<Reporter, 'notice' | 'warning'>;
  readonly #readFields = createFieldReader();
  /** What the events are called that were given up. */
  readonly #givenUp: string[] = [];

  constructor(
    options: EventCommandOptions,
    context: Surroundings,
    reporter: Pick<Reporter, 'notice' | 'warning'>,
  ) {
    this.#options = options;
    this.#context = context;
    this.#reporter = reporter;
  }

  /**
   * Handles the only item of a page. Resolves when the command has ended with 0 or the event is given up;
   * rejects when `signal` aborts, which the command itself outlives for a while if only the time of the watch
   * is over.
   */
  async handle(items: Items, signal: AbortSignal): Promise<void> {
    const { retryForMs } = this.#options;
    const { clock } = this.#context;
    const variables = this.#readFields(items);
    const id = variables['HOOKTRAIL_EVENT_ID'];
    const event = id === undefined ? 'an event without an id' : `event ${id}`;
    let firstFailedAt: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted();
      const failure = await this.#runOnce(items, variables, event);
      if (failure === undefined) return;
      // Told to end, it may have failed for that reason alone.
      this.#context.signal.throwIfAborted();
      firstFailedAt ??= clock.now();
      const left = firstFailedAt + retryForMs - clock.now();
      if (left <= 0) return this.#giveUp(event, failure);
      const wait = Math.min(pause, left);
      this.#tellOfRetry(event, failure, wait, left);
      await clock.sleep(wait, signal);
    }
  }

  /** Throws `ServiceError` if events were given up. */
  requireAllHandled(): void {
    const events = this.#givenUp;
    if (events.length === 0) return;
    throw new ServiceError(`the command did not handle ${eventsText(events.length)}`, {
      details: fewOf(events),
      next: advise`${hooktrail('events get ID --ndjson')} prints an event, to hand it over again`,
    });
  }

  #giveUp(event: string, failure: string): void {
    this.#givenUp.push(event);
    this.#reporter.warning(`${failure} for ${event}: given up, the watch goes on`, { kind: 'incomplete' });
  }

  #tellOfRetry(event: string, failure: string, waitMs: number, leftMs: number): void {
    const end = Number.isFinite(leftMs)
      ? `given up in ${secondsText(leftMs)}`
      : 'for ever, as no --retry-for is given';
    this.#reporter.warning(`${failure} for ${event}: run again in ${secondsText(waitMs)} (${end})`, {
      kind: 'incomplete',
    });
  }

  /** Runs the command to its end. Returns what went wrong, or undefined if it ended with 0. */
  async #runOnce(items: Items, variables: Environment, event: string): Promise<string | undefined> {
    const { environment, startProgram, atExit } = this.#context;
    // A line, as programs that read text expect it.
    const input = Buffer.concat([items.text(0), Buffer.from('\n')]);
    let program: StartedProgram | undefined;
    try {
      program = await startProgram(this.#options.words, environmentOf(environment, variables), input);
      // A second signal ends this process at once.
      const forget = atExit?.(() => program?.kill('SIGKILL'));
      const code = await this.#ended(program, event).finally(forget);
      return code === 0 ? undefined : `the command ended with ${code}`;
    } catch (error) {
      return `the command could not be started (${unrunnableText(error)})`;
    }
  }

  /** Waits for the end of a program, and ends it if it takes too long after the watch was told to end. */
  async #ended(program: StartedProgram, event: string): Promise<number> {
    const { clock, signal } = this.#context;
    const over = new AbortController();
    const endInTime = async () => {
      this.#reporter.notice(
        `the command has ${durationText(GRACE_MS)} to end with ${event}; a second signal ends it at once`,
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

/**
 * Returns a function that reads the variables of a page's first item. One that the item has no text for is
 * undefined.
 */
function createFieldReader(): (items: Items) => Environment {
  const cursor = createCursor(Object.values(FIELD_OF_VARIABLE).map(memberPath));
  return (items) => {
    cursor.read(items.bytes, items.start(0));
    return Object.fromEntries(VARIABLES.map((name, index) => [name, variableText(cursor.text(index))]));
  };
}

/** The text if a variable can hold it. */
function variableText(text: string | undefined): string | undefined {
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
