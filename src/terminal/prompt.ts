import type { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';
import { colorLevel } from './palette.ts';
import { terminalSafeLine } from './terminal-safe.ts';

type Surroundings = Pick<Context, 'stdin' | 'stderr' | 'signal' | 'environment'>;

/** Returns what is wrong with an answer; undefined where it is right. */
export type Check = (answer: string) => string | undefined;

/** Questions are asked on standard error and answered on standard input; both have to be a terminal. */
export function canPrompt({ stdin, stderr }: Pick<Context, 'stdin' | 'stderr'>): boolean {
  return stderr.isTerminal && stdin.isTerminal;
}

/**
 * Asks until the answer, without white space around it, passes the check. Only where `canPrompt`.
 * Throws `InterruptedError` on Ctrl+C.
 */
export async function promptText(message: string, context: Surroundings, check?: Check): Promise<string> {
  const { text } = await import('@clack/prompts');
  return answered(await text({ message, ...common(context), validate: validated(check) }), context);
}

/** The same, showing a mark for each character typed. */
export async function promptSecret(message: string, context: Surroundings): Promise<string> {
  const { password } = await import('@clack/prompts');
  const answer = await password({ message, mask: '*', ...common(context), validate: validated() });
  return answered(answer, context);
}

function common({ stdin, stderr, signal, environment }: Surroundings) {
  const output = stderr.stream();
  const colored = colorLevel(stderr, environment, undefined) > 0;
  return { input: stdin.stream(), output: colored ? output : colorless(output), signal };
}

/** Select Graphic Rendition (ECMA-48): the prompt library colours by Node's rules, which differ between versions. */
const COLOR = /\x1b\[[\d;]*m/g;

/** The same stream, with the colours of what is written left out. */
function colorless(stream: Writable): Writable {
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'write') return (text: string) => target.write(text.replace(COLOR, ''));
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function validated(check: Check = () => undefined) {
  return (answer: string | undefined) => {
    const problem = answer?.trim() ? check(answer.trim()) : 'an answer is needed (Ctrl+C stops)';
    return problem === undefined ? undefined : terminalSafeLine(problem);
  };
}

/** Raw mode turns Ctrl+C into a key: it has to end the program as the signal would. */
function answered(answer: string | symbol, { signal }: Surroundings): string {
  signal.throwIfAborted();
  if (typeof answer === 'symbol') throw new InterruptedError('SIGINT');
  return answer.trim();
}
