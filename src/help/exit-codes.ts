import { ExitCode } from '../errors.ts';
import { aligned } from './aligned.ts';

/** The meaning of each exit code. */
export const exitCodeMeanings: { readonly [Name in keyof typeof ExitCode]: string } = {
  done: 'done; also when the reader of the output went away, as `| head` does',
  failed: 'the service answered with an error, or the result could not be completed',
  usage: 'a wrong command line, or settings that are missing or wrong',
  notFound: 'events get: at least one id was not found (those found are printed)',
  notSignedIn: 'not signed in, or the sign-in was refused',
  unreachable: 'the service could not be reached, after retries: DNS, refused, TLS, time-out',
  matched: 'with --exit-code: at least one event matched',
  interrupted: 'interrupted with Ctrl-C (SIGINT)',
  terminated: 'ended by SIGTERM, or its terminal was closed',
};

export function exitCodesText(): string {
  const names = Object.keys(ExitCode) as (keyof typeof ExitCode)[];
  const codes = aligned(names.map((name) => [String(ExitCode[name]), exitCodeMeanings[name]] as const));
  return `Exit codes:

${codes}
For monitoring, --exit-code shows whether anything matched:

  hooktrail events search --failed --since 10m --exit-code --quiet > failed.txt
  case $? in
    0) ;;                                  # nothing failed
    10) mail -s 'failed deliveries' ops < failed.txt ;;
    *) echo 'the check itself failed' ;;
  esac
`;
}
