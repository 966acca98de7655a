import type { Context } from '../context.ts';
import { InterruptedError, kindOf, UsageError } from '../errors.ts';
import { openApiTokens, type TokenStore } from '../secrets/api-tokens.ts';
import { givenSecret, isSecretGiven } from '../secrets/given-secret.ts';
import type { Reporter } from '../terminal/reporter.ts';

/**
 * One token is saved per subscription, since an `Api-Token` belongs to a subscription and not to a sign-in,
 * and one per profile for users with a single subscription.
 */
export interface TokenPlace extends TokenStore {
  readonly subscription?: string | undefined;
}

export const API_TOKEN_VARIABLE = 'HOOKTRAIL_API_TOKEN';

/**
 * Returns the `Api-Token` from the environment, or else the one saved for the profile; undefined if there is
 * neither. Throws `UsageError` if the store cannot be read.
 */
export async function findApiToken(
  place: TokenPlace,
  context: Context,
  readSaved = openApiTokens(place, context).of(place.subscription).read,
): Promise<string | undefined> {
  return (await givenApiToken(context)) ?? (await readSaved());
}

/**
 * Returns the token of the subscription, or else of the profile; without one, warns and returns undefined.
 */
export async function apiTokenOrWarning(
  place: TokenPlace,
  context: Context,
  reporter: Pick<Reporter, 'warning'>,
): Promise<string | undefined> {
  const { subscription, ...ofProfile } = place;
  try {
    const own = subscription === undefined ? undefined : await findApiToken(place, context);
    const token = own ?? (await findApiToken(ofProfile, context));
    if (token === undefined)
      reporter.warning('without HOOKTRAIL_API_TOKEN the handler gets no Api-Token', { kind: 'usage' });
    return token;
  } catch (error) {
    if (isSecretGiven(API_TOKEN_VARIABLE, context.environment) || error instanceof InterruptedError)
      throw error;
    reporter.warning(`the Api-Token cannot be read, so the handler gets none: ${(error as Error).message}`, {
      kind: kindOf(error),
    });
    return undefined;
  }
}

/** Returns the token in the environment. */
export async function givenApiToken(context: Context): Promise<string | undefined> {
  const token = await givenSecret(API_TOKEN_VARIABLE, context);
  return token ? checkedApiToken(token, API_TOKEN_VARIABLE) : undefined;
}

/**
 * Accepts a header value (RFC 9110 section 5.5) without leading or trailing white space. Throws `UsageError`.
 */
export function checkedApiToken(token: string, source: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(token)) return token;
  throw new UsageError(
    `${source}: invalid token: must be printable ASCII characters without leading or trailing spaces`,
  );
}
