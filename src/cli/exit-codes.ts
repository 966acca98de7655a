import { ExitCode } from '../errors.ts';
import { alignedColumns } from './help-text.ts';

const MEANINGS: Readonly<Record<keyof typeof ExitCode, string>> = {
  done: 'done; also when the reader closed the pipe, as `| head` does',
  failed: 'the service answered with an error, or the result could not be completed',
  usage: 'a wrong command line, or settings that are missing or wrong',
  notFound: 'events get: at least one id was not found (those found are printed)',
  notSignedIn: 'not signed in, or the sign-in was refused',
  unreachable: 'the service could not be reached, after retries: DNS, refused, TLS, time-out',
  matched: 'with --exit-code: at least one event matched',
  interrupted: 'interrupted with Ctrl-C (SIGINT)',
  terminated: 'ended by SIGTERM, or its terminal was closed',
};

export const exitCodes = Object.entries(MEANINGS).map(([name, meaning]) => ({
  code: ExitCode[name as keyof typeof ExitCode],
  meaning,
}));

/** The width of the pages of `help`. */
const PAGE_COLUMNS = 80;

export function exitCodesText(): string {
  const rows = exitCodes.map(({ code, meaning }) => [`${code}`, meaning] as const);
  return `Exit codes:\n\n${alignedColumns(rows, PAGE_COLUMNS).join('')}`;
}
