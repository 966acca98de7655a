import type { Clock } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { canPrompt, type Lines, NoAnswerError, type PromptContext, promptLines } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  checkResponse,
  errorIn,
} from './authorization.ts';

type PasteContext = PromptContext & { readonly clock: Clock };

const QUESTION = 'Paste the URL that the browser ended up at';
const BESIDE = "If the browser's last page does not load, paste its address here";

/** Milliseconds to wait for the rest of an address that was split into lines, which are pasted together. */
const REST_MS = 500;

/**
 * Reads lines of standard input until they contain the redirected URL; prompts on a terminal. A forged,
 * foreign or mistyped URL does not end the wait. Throws `NotSignedInError` when the input ends first.
 */
export async function receivePasted(
  request: AuthorizationRequest,
  context: PasteContext,
  lines: Lines,
  reporter: Reporter,
): Promise<AuthorizationAnswer> {
  if (canPrompt(context)) return await promptRedirect(QUESTION, request, context);
  let problem = 'it is empty';
  for await (const address of pastedAddresses(lines, request, context)) {
    const checked = await readPaste(address, request);
    if (typeof checked !== 'string') return checked;
    problem = checked;
    reporter.warning(`the pasted URL is not accepted: ${problem}`, { kind: 'sign-in' });
  }
  throw new NotSignedInError(`the pasted URL is not accepted: ${problem}`, {
    next: 'sign in again, and paste the whole URL of the new sign-in',
  });
}

async function* pastedAddresses(
  lines: Lines,
  request: AuthorizationRequest,
  { clock, signal }: PasteContext,
): AsyncGenerator<readonly string[]> {
  let line = await lines.next();
  while (line !== undefined) {
    const address = [line];
    let next = lines.next();
    // The input may end while nobody awaits the next line.
    next.catch(() => undefined);
    for (;;) {
      const rest = await Promise.race([next, clock.sleep(REST_MS, signal)]);
      if (rest === undefined || beginsAddress(rest, request)) break;
      address.push(rest);
      next = lines.next();
      next.catch(() => undefined);
    }
    if (address.some((part) => part.trim() !== '')) yield address;
    line = await next;
  }
}

/**
 * Returns the first answer: the browser's redirect, or one pasted on the terminal because the browser could
 * not reach the listener. Both are checked alike.
 */
export async function pastedBeside(
  answer: Promise<AuthorizationAnswer>,
  request: AuthorizationRequest,
  context: PasteContext,
  reporter: Reporter,
): Promise<AuthorizationAnswer> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, context.signal]);
  const pasted = promptRedirect(BESIDE, request, { ...context, signal }).catch((error) => {
    // Terminals without a person, such as those of `script` or a container, end at once: the browser may
    // still come.
    if (!(error instanceof NoAnswerError)) throw error;
    reporter.notice('addresses can no longer be pasted; login waits for the browser (Ctrl-C ends it)');
    return answer;
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
  request: AuthorizationRequest,
  context: PasteContext,
): Promise<AuthorizationAnswer> {
  let answer: AuthorizationAnswer | undefined;
  const rest = { clock: context.clock, milliseconds: REST_MS };
  await promptLines(question, context, rest, async (text) => {
    const checked = await readPaste(text.split('\n'), request);
    if (typeof checked === 'string') return `That URL is not accepted: ${checked}`;
    answer = checked;
    return undefined;
  });
  return answer as unknown as AuthorizationAnswer;
}

function beginsAddress(line: string, { redirectUri }: AuthorizationRequest): boolean {
  const bare = line.trim().replace(/^["'<]/, '');
  return /^https?:\/\//i.test(bare) || bare.startsWith(`${redirectUri.url.host}/`);
}

/**
 * Returns the answer in pasted lines, or the problem. The address holds the code and is never shown. It may
 * be split into lines, with other text around it.
 */
async function readPaste(
  lines: readonly string[],
  request: AuthorizationRequest,
): Promise<AuthorizationAnswer | string> {
  const texts = lines.map((line) => line.trim()).filter((text) => text !== '');
  const starts = texts.flatMap((text, at) => (beginsAddress(text, request) ? [at] : []));
  let refused: AuthorizationAnswer | string | undefined;
  for (const at of starts.length > 0 ? starts : [0])
    for (const text of [texts.slice(at).join(''), texts[at] ?? '']) {
      const read = await readAddress(text, request);
      if (typeof read !== 'string' && read.kind !== 'foreign') return read;
      if (refused === undefined || typeof refused === 'string') refused = read;
    }
  return refused ?? 'it is empty';
}

async function readAddress(
  text: string,
  request: AuthorizationRequest,
): Promise<AuthorizationAnswer | string> {
  const { origin, pathname, protocol, host } = request.redirectUri.url;
  // `&amp;` occurs in addresses copied from a page's source.
  const pasted = text.replace(/^(["'<])(.*)["'>]$/, '$2').replaceAll('&amp;', '&');
  // Address bars hide the scheme.
  const bare = pasted.startsWith(`${host}/`) ? `${protocol}//${pasted}` : pasted;
  if (bare === '') return 'it is empty';
  if (!URL.canParse(bare)) return 'it is not a whole URL';
  const url = new URL(bare);
  if (url.origin !== origin || url.pathname !== pathname)
    return `it does not begin with ${origin}${pathname}`;
  const result = await checkResponse(url.searchParams, request);
  if (result.kind !== 'stray') return result;
  const error = errorIn(url.searchParams);
  return error === undefined ? result.reason : `${result.reason}; it has the error ${error}`;
}
