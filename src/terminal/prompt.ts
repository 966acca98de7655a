import type { Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { type Clock, type Context, trimValue } from '../context.ts';
import { type HooktrailError, InterruptedError } from '../errors.ts';
import { redraws } from './palette.ts';
import { fittedLines, terminalSafeLine } from './terminal-text.ts';

export type PromptContext = Pick<Context, 'stdin' | 'stderr' | 'signal' | 'environment' | 'memory'>;

export type Check = (answer: string) => string | undefined | Promise<string | undefined>;

/** True if questions can be asked: standard error and standard input have to be terminals. */
export function canPrompt({ stdin, stderr }: Pick<Context, 'stdin' | 'stderr'>): boolean {
  return stderr.isTerminal && stdin.isTerminal;
}

/** The user pressed Ctrl-D, or the terminal's input ended. */
export class NoAnswerError extends InterruptedError {}

/**
 * Asks until the trimmed answer passes the check. Requires `canPrompt`. Throws `InterruptedError` on Ctrl-C,
 * `NoAnswerError` on Ctrl-D.
 */
export async function promptText(message: string, context: PromptContext, check?: Check): Promise<string> {
  return await ask(message, context, { check });
}

interface Rest {
  readonly clock: Clock;
  readonly milliseconds: number;
}

/** Asks as `promptText` does. Lines pasted together form one answer, separated by line feeds. */
export async function promptLines(
  message: string,
  context: PromptContext,
  rest: Rest,
  check: Check,
): Promise<string> {
  return await ask(message, context, { check, rest });
}

/** Asks as `promptText` does, without showing what is typed. `isOptional`: accepts an empty answer. */
export async function promptSecret(
  message: string,
  context: PromptContext,
  { isOptional = false, check }: { readonly isOptional?: boolean; readonly check?: Check } = {},
): Promise<string> {
  return trimValue(await ask(message, context, { isSecret: true, isOptional, check }));
}

/** Asks a yes-or-no question. Throws `declined` on no. Requires `canPrompt`. */
export async function confirm(text: string, context: PromptContext, declined: HooktrailError): Promise<void> {
  const check = (answer: string) => (/^(y|yes|n|no)$/i.test(answer) ? undefined : 'answer yes or no');
  if (!/^y/i.test(await promptText(`${text} (yes or no)`, context, check))) throw declined;
}

interface AskOptions {
  readonly isSecret?: boolean;
  readonly isOptional?: boolean;
  readonly check?: Check | undefined;
  readonly rest?: Rest;
}

async function ask(
  message: string,
  context: PromptContext,
  { isSecret = false, isOptional = false, check, rest }: AskOptions,
): Promise<string> {
  const { stdin, stderr, environment, memory } = context;
  const { createInterface } = await import('node:readline/promises');
  // Node's line editor sets raw mode, in which nothing is echoed. Without it the terminal edits lines itself.
  const isEdited = isSecret || redraws(environment);
  const lines = createInterface({
    input: stdin.stream(),
    output: isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : stderr.stream(),
    terminal: isEdited,
    historySize: 0,
  });
  // After Ctrl-Z and `fg` Node leaves the input paused: no key would arrive, not even Ctrl-C.
  lines.on('SIGCONT', () => memory.question?.show());
  // Node gives the question only the first of several lines pasted at once.
  const pasted: string[] = [];
  lines.on('line', (line) => pasted.push(line));
  try {
    for (;;) {
      const question = `${message}: `;
      memory.question = {
        clear: isEdited ? '\r\x1b[K' : '\n',
        show: () => {
          // Other output has replaced the rows where the editor assumes its question.
          Object.assign(lines, { prevRows: 0 }).prompt(true);
          if (isSecret) stderr.write(question).catch(() => undefined);
        },
      };
      memory.progressLine?.hide();
      const next = async () => pasted.shift() ?? (await answerTo(question, lines, context, isSecret));
      const answer = (await withRest(await next(), next, { lines, pasted, rest, context })).trim();
      memory.question = undefined;
      const isMissing = answer === '' && !isOptional;
      const problem = isMissing ? 'an answer is needed (Ctrl-C stops)' : await check?.(answer);
      if (problem === undefined) return answer;
      await stderr.write(`${fittedLines(`  ${terminalSafeLine(problem)}`, stderr.columns)}\n`);
    }
  } finally {
    memory.question = undefined;
    memory.progressLine?.showLater();
    lines.close();
  }
}

interface Pasting {
  readonly lines: Interface;
  /** Lines that arrived while no question was open. */
  readonly pasted: readonly string[];
  readonly rest: Rest | undefined;
  readonly context: PromptContext;
}

async function withRest(
  line: string,
  next: () => Promise<string>,
  { lines, pasted, rest, context }: Pasting,
): Promise<string> {
  if (rest === undefined || line.trim() === '') return line;
  let whole = line;
  for (;;) {
    if (pasted.length === 0) await rest.clock.sleep(rest.milliseconds, context.signal);
    if (pasted.length === 0 && lines.line === '') return whole;
    whole += `\n${await next()}`;
  }
}

async function answerTo(
  question: string,
  lines: Interface,
  { stderr, signal }: PromptContext,
  isSecret: boolean,
): Promise<string> {
  const over = new AbortController();
  // In raw mode Ctrl-C is a key; it has to end the program as the signal would. Ctrl-D closes the interface.
  const interrupt = () => over.abort(new InterruptedError('SIGINT'));
  const close = () => over.abort(new NoAnswerError('SIGINT'));
  lines.once('SIGINT', interrupt).once('close', close);
  const either = { signal: AbortSignal.any([signal, over.signal]) };
  try {
    if (!isSecret) return await lines.question(question, either);
    // Start reading before the question is shown, so that an early answer is not lost.
    const [answer] = await Promise.all([lines.question('', either), stderr.write(question)]);
    return answer;
  } catch (error) {
    throw either.signal.aborted ? either.signal.reason : error;
  } finally {
    lines.off('SIGINT', interrupt).off('close', close);
    // The key that ended the line was not echoed either.
    if (isSecret || either.signal.aborted) await stderr.write('\n');
  }
}

/** Standard input, one line at a time: a secret and a pasted URL may come on the same pipe. */
export interface Lines {
  /** Resolves to the next line without its line end; undefined after the last. */
  next(): Promise<string | undefined>;
}

export async function withLines<Result>(
  { stdin, signal }: Pick<Context, 'stdin' | 'signal'>,
  work: (lines: Lines) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const lines = stdin.lines(AbortSignal.any([signal, over.signal]));
  try {
    return await work({
      next: async () => {
        const { value, done } = await lines.next();
        signal.throwIfAborted();
        return done ? undefined : value;
      },
    });
  } finally {
    over.abort();
  }
}
