import type { Call } from '../../command.ts';
import type { Output } from '../../context.ts';
import { fewOf, ServiceError, UsageError } from '../../errors.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { createJqWriter } from '../../formats/jq.ts';
import { Items } from '../../items/items.ts';
import { grouped, terminalSafe } from '../../terminal/terminal-text.ts';
import { RepeatedCommand, type RepeatedCommandOptions, variableText } from '../../watch/command-runner.ts';
import { linesOfChange, nextCommand, type ReportedChange, reportedJson } from './reported-change.ts';

export interface ChangeOutputOptions {
  readonly filters: EventFilters;
  readonly isJson: boolean;
  readonly jq: string | undefined;
  readonly command: RepeatedCommandOptions | undefined;
}

/** Prints changes as text or JSON, or hands their JSON to a command. */
export class ChangeOutput {
  readonly #options: ChangeOutputOptions;
  readonly #call: Call;
  readonly #command: RepeatedCommand | undefined;

  constructor(options: ChangeOutputOptions, call: Call) {
    const { command } = options;
    this.#options = options;
    this.#call = call;
    this.#command = command && new RepeatedCommand(command, call.context, call.reporter);
  }

  async report(change: ReportedChange, signal: AbortSignal): Promise<void> {
    const { filters, isJson, jq } = this.#options;
    const { stdout } = this.#call.context;
    const next = nextCommand(change, filters, this.#call.reporter.runFlags);
    if (!this.#command && !isJson && jq === undefined) {
      const lines = linesOfChange(change, next, filters.zone);
      return await stdout.write(`${lines.join('\n')}\n`, true);
    }
    const json = JSON.stringify(reportedJson(change, next), wellFormed);
    const text = jq === undefined ? json : await resultOfJq(jq, json, nameOf(change), this.#call);
    // A jq program such as select() may drop changes.
    if (text === '') return;
    if (this.#command) return await this.#command.handle(commandSubject(change, text), signal);
    await stdout.write(`${stdout.isTerminal ? terminalSafe(text) : text}\n`, true);
  }

  /** Throws `ServiceError` if the command failed on some changes for too long. */
  requireAllReported(): void {
    const changes = this.#command?.givenUp ?? [];
    if (changes.length === 0) return;
    const many = changes.length === 1 ? '1 change' : `${grouped(changes.length)} changes`;
    throw new ServiceError(`the command did not handle ${many}`, { details: fewOf(changes) });
  }
}

/** A reason cut inside a character would be a parse error for jq and receivers. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function nameOf({ change, key, subscriptionId, name }: ReportedChange): string {
  return `${change} of ${name ?? subscriptionId ?? key.replaceAll('\n', ', ')}`;
}

function commandSubject(change: ReportedChange, text: string) {
  const { subscriptionId, name } = change;
  const variable = (value: string | null | undefined) => variableText(value ?? undefined);
  return {
    name: nameOf(change),
    input: Buffer.from(text),
    variables: {
      HOOKTRAIL_CHANGE: change.change,
      HOOKTRAIL_SUBSCRIPTION_ID: variable(subscriptionId),
      HOOKTRAIL_SUBSCRIPTION_NAME: variable(name),
    },
  };
}

/** Throws `UsageError` that names the change, which the next run reports again. */
async function resultOfJq(
  program: string,
  json: string,
  name: string,
  { context, reporter }: Call,
): Promise<string> {
  const printed: Buffer[] = [];
  const write: Output['write'] = async (chunk) => void printed.push(Buffer.from(chunk));
  try {
    const captured = { ...context, stdout: { isTerminal: false, write } };
    const writer = await createJqWriter({ program, perItem: true }, captured, reporter);
    await writer.write(Items.of([Buffer.from(json)]));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`--jq: the program failed on ${name}`, {
      details: [error.message, ...error.details],
      next: 'without --state, --ndjson in place of --jq and the command prints what the program gets',
      cause: error,
    });
  }
  return Buffer.concat(printed).toString().replace(/\n$/, '');
}
