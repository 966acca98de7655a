import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isHeaderSafe } from './token-answer.ts';

/** `HOOKTRAIL_ACCESS_TOKEN` without white space around it; undefined where that leaves nothing. Throws `UsageError` for what is no token. */
export function givenToken(environment: Environment): string | undefined {
  const given = environment['HOOKTRAIL_ACCESS_TOKEN']?.trim();
  if (!given) return undefined;
  if (isHeaderSafe(given)) return given;
  throw new UsageError(
    'HOOKTRAIL_ACCESS_TOKEN is not a token: it holds spaces, line ends or other characters',
    { next: 'put a valid token there, or take the variable away to use the stored sign-in' },
  );
}
