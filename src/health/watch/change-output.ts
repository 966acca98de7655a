import type { Call } from '../../command.ts';
import type { Output } from '../../context.ts';
import { fewOf, ServiceError, UsageError } from '../../errors.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { createJqWriter } from '../../formats/jq.ts';
import { Items } from '../../items/items.ts';
import { grouped, terminalSafe } from '../../terminal/terminal-text.ts';
import { RepeatedCommand, type RepeatedCommandOptions, variableText } from '../../watch/command-runner.ts';
import type { ChangeFindings } from './change-findings.ts';
import { type ChangeSubject, linesOfChange, nextCommand, reportedJson } from './reported-change.ts';
import type { RowChange } from './watched-rows.ts';

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
  readonly #shape: ((json: string, name: string) => Promise<string>) | undefined;

  constructor(options: ChangeOutputOptions, call: Call) {
    const { command, jq } = options;
    this.#options = options;
    this.#call = call;
    this.#command = command && new RepeatedCommand(command, call.context, call.reporter);
    this.#shape = jq === undefined ? undefined : jqShape(jq, call);
  }

  async report(
    change: RowChange,
    subject: ChangeSubject,
    findings: ChangeFindings,
    signal: AbortSignal,
  ): Promise<void> {
    const { filters, isJson } = this.#options;
    const { stdout } = this.#call.context;
    const next = nextCommand(change, subject, filters, this.#call.reporter.runFlags);
    if (!this.#command && !isJson && !this.#shape) {
      const lines = linesOfChange(change, subject, findings, next, filters.zone);
      return await stdout.write(`${lines.join('\n')}\n`, true);
    }
    const json = JSON.stringify(reportedJson(change, subject, findings, next), wellFormed);
    const text = this.#shape ? await this.#shape(json, nameOf(change, subject)) : json;
    // A jq program such as select() may drop changes.
    if (text === '') return;
    if (this.#command) return await this.#command.handle(commandSubject(change, subject, text), signal);
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

function nameOf(
  { change, key }: Pick<RowChange, 'change' | 'key'>,
  { subscriptionId, name }: ChangeSubject,
): string {
  return `${change} of ${name ?? subscriptionId ?? key.replaceAll('\n', ', ')}`;
}

function commandSubject(change: RowChange, subject: ChangeSubject, text: string) {
  const { subscriptionId, name } = subject;
  const variable = (value: string | null | undefined) => variableText(value ?? undefined);
  return {
    name: nameOf(change, subject),
    input: Buffer.from(text),
    variables: {
      HOOKTRAIL_CHANGE: change.change,
      HOOKTRAIL_SUBSCRIPTION_ID: variable(subscriptionId),
      HOOKTRAIL_SUBSCRIPTION_NAME: variable(name),
    },
  };
}

/** Throws `UsageError` that names the change, which the next run reports again. */
function jqShape(
  program: string,
  { context, reporter }: Call,
): (json: string, name: string) => Promise<string> {
  let printed: Buffer[] = [];
  const write: Output['write'] = async (chunk) => void printed.push(Buffer.from(chunk));
  const captured = { ...context, stdout: { isTerminal: false, write } };
  const writer = createJqWriter({ program, perItem: true }, captured, reporter);
  return async (json, name) => {
    printed = [];
    try {
      await (await writer).write(Items.of([Buffer.from(json)]));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(`--jq: the program failed on ${name}`, {
        details: [error.message, ...error.details],
        next: 'without --state, --ndjson in place of --jq and the command prints what the program gets',
        cause: error,
      });
    }
    return Buffer.concat(printed).toString().replace(/\n$/, '');
  };
}
