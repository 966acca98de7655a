import type { Context } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { canPrompt, type Lines, NoAnswerError, promptText } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Answer, checkResponse, type Expected } from './authorization.ts';

const QUESTION = 'Paste the URL that the browser ended up at';
const BESIDE = "If the browser's last page does not load, paste its address here";

/**
 * Reads lines of standard input until one is the redirected URL, and asks for it on a terminal. A forged, foreign or
 * mistyped URL does not end the wait. Throws `NotSignedInError` when the input ends first.
 */
export async function receivePasted(
  redirectUri: URL,
  expected: Expected,
  context: Pick<Context, 'stdin' | 'stderr' | 'signal' | 'environment'>,
  lines: Lines,
  reporter: Reporter,
): Promise<Answer> {
  if (!canPrompt(context)) return await receiveLine(redirectUri, expected, lines, reporter);
  return await promptRedirect(QUESTION, redirectUri, expected, context);
}

/**
 * Returns the first answer: the browser's at the listener, or one pasted on the terminal because the browser could not
 * reach the listener. Both pass the same checks.
 */
export async function pastedBeside(
  answer: Promise<Answer>,
  redirectUri: URL,
  expected: Expected,
  context: Pick<Context, 'stdin' | 'stderr' | 'signal' | 'environment'>,
): Promise<Answer> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, context.signal]);
  const pasted = promptRedirect(BESIDE, redirectUri, expected, { ...context, signal }).catch((error) => {
    // Terminals without a person, of `script` or a container, end at once: the browser may still come.
    if (error instanceof NoAnswerError) return answer;
    throw error;
  });
  try {
    return await Promise.race([answer, pasted]);
  } finally {
    over.abort(new Error('over'));
    // Wait until the prompt has restored the terminal before anything else is printed.
    await pasted.catch(() => undefined);
  }
}

async function promptRedirect(
  question: string,
  redirectUri: URL,
  expected: Expected,
  context: Pick<Context, 'stdin' | 'stderr' | 'signal' | 'environment'>,
): Promise<Answer> {
  let problem: string | undefined;
  for (;;) {
    const text = await promptText(problem ? `${problem}. ${QUESTION}` : question, context);
    const checked = await readPasted(text, redirectUri, expected);
    if (typeof checked !== 'string') return checked;
    problem = `That URL is not accepted: ${checked}`;
  }
}

async function receiveLine(redirectUri: URL, expected: Expected, lines: Lines, reporter: Reporter) {
  let problem: string | undefined;
  for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
    if (line.trim() === '') continue;
    const checked = await readPasted(line, redirectUri, expected);
    if (typeof checked !== 'string') return checked;
    problem = checked;
    reporter.warning(`the pasted URL is not accepted: ${problem}`);
  }
  throw new NotSignedInError(`the pasted URL is not accepted: ${problem ?? 'it is empty'}`, {
    next: 'sign in again, and paste the whole URL of the new sign-in',
  });
}

/** Returns the answer in a pasted URL, or what is wrong with the URL. The URL holds the code and is never shown. */
async function readPasted(text: string, redirectUri: URL, expected: Expected): Promise<Answer | string> {
  const bare = text.trim().replace(/^(["'<])(.*)["'>]$/, '$2');
  if (bare === '') return 'it is empty';
  if (!URL.canParse(bare)) return 'it is not a whole URL';
  const url = new URL(bare);
  if (url.origin !== redirectUri.origin || url.pathname !== redirectUri.pathname) {
    return `it does not begin with ${redirectUri.origin}${redirectUri.pathname}`;
  }
  const result = await checkResponse(url.searchParams, expected);
  return result.kind === 'stray' ? result.reason : result;
}
