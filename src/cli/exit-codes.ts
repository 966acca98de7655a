import { type ErrorKind, ExitCode } from '../errors.ts';
import { alignedColumns } from './help-text.ts';

const MEANINGS: Readonly<Record<keyof typeof ExitCode, string>> = {
  done: 'done; also when the reader closed the pipe, as `| head` does',
  failed: 'the service answered with an error, or the result could not be completed',
  usage: 'a wrong command line, or settings that are missing or wrong',
  notFound: 'events get: at least one id was not found (those found are printed)',
  notSignedIn: 'not signed in, or the sign-in was refused',
  unreachable: 'the service could not be reached, after retries: DNS, refused, TLS, time-out',
  matched: 'with --exit-code: an event matched, is missing at the receiver, or a row is failing',
  interrupted: 'interrupted with Ctrl-C (SIGINT)',
  terminated: 'ended by SIGTERM, or its terminal was closed',
};

export const exitCodes = Object.entries(MEANINGS).map(([name, meaning]) => ({
  code: ExitCode[name as keyof typeof ExitCode],
  meaning,
}));

const KINDS: Readonly<Record<ErrorKind, string>> = {
  usage: 'the command line or the settings have to change',
  'not-found': 'an event or a subscription that was named is not there',
  'sign-in': 'a sign-in is missing, was refused or could not be saved',
  service: 'the service or the identity provider answered with an error',
  unreachable: 'no answer, after retries',
  incomplete: 'the result, or what was printed of it, is not whole',
  interrupted: 'Ctrl-C, SIGTERM, or the end of the terminal',
  internal: 'a defect of hooktrail',
};

/** The width of the pages of `help`. */
const PAGE_COLUMNS = 80;

export function exitCodesText(): string {
  const rows = exitCodes.map(({ code, meaning }) => [`${code}`, meaning] as const);
  const kinds = alignedColumns(Object.entries(KINDS), PAGE_COLUMNS).join('');
  const codes = alignedColumns(rows, PAGE_COLUMNS).join('');
  return `Exit codes:\n\n${codes}\nKinds of errors, with --error-format json:\n\n${kinds}`;
}
