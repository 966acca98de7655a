import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';
import { terminalSafeLine } from './terminal-safe.ts';

type Streams = Pick<Context, 'stdin' | 'stderr' | 'signal'>;

/** Tells what is wrong with an answer, or nothing where it is right. */
export type Check = (answer: string) => string | undefined;

/** Questions are asked on standard error and answered on standard input; both have to be a terminal. */
export function canPrompt({ stdin, stderr }: Pick<Context, 'stdin' | 'stderr'>): boolean {
  return stderr.isTerminal && stdin.isTerminal;
}

/** Asks until the answer passes the check. Throws `InterruptedError` on Ctrl+C. Only where `canPrompt`. */
export async function promptText(message: string, streams: Streams, check?: Check): Promise<string> {
  const { text } = await import('@clack/prompts');
  return answered(await text({ message, ...common(streams), validate: validated(check) })).trim();
}

/** The same, showing a mark for each character typed; white space at the ends belongs to the answer. */
export async function promptSecret(message: string, streams: Streams): Promise<string> {
  const { password } = await import('@clack/prompts');
  const answer = await password({ message, mask: '*', ...common(streams), validate: validated() });
  return answered(answer);
}

function common({ stdin, stderr, signal }: Streams) {
  return { input: stdin.stream(), output: stderr.stream(), signal };
}

function validated(check: Check = () => undefined) {
  return (answer: string | undefined) => {
    const problem = answer?.trim() ? check(answer.trim()) : 'an answer is needed (Ctrl+C stops)';
    return problem === undefined ? undefined : terminalSafeLine(problem);
  };
}

/** Raw mode turns Ctrl+C into a key: it has to end the program as the signal would. */
function answered(answer: string | symbol): string {
  if (typeof answer === 'symbol') throw new InterruptedError('SIGINT');
  return answer;
}
