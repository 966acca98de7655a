import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { InterruptedError, kindOf, UsageError } from '../../errors.ts';
import { openApiTokens } from '../../secrets/api-tokens.ts';
import { isSecretGiven } from '../../secrets/given-secret.ts';
import { sameSecret } from '../../sign-in/authorization.ts';
import { canPrompt, promptSecret } from '../../terminal/prompt.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import {
  API_TOKEN_VARIABLE,
  checkedApiToken,
  findApiToken,
  givenApiToken,
  type TokenPlace,
} from '../api-token.ts';

export interface ExpectedToken {
  readonly current: () => string;
  /** Compares with the latest token saved at the time of the call. */
  readonly isCurrent: (given: string) => Promise<boolean>;
  readonly close: () => void;
}

/** Milliseconds between two checks for a newly saved token. */
const WATCH_MS = 500;
/** Milliseconds between two checks caused by wrong tokens: a flood of them costs no more than this. */
const WRONG_TOKEN_WATCH_MS = 100;

/**
 * Finds the token as `requireApiToken` does. A token from the store is replaced when another is saved: the
 * service invalidates the old one at once on renewal, so each delivery is compared with the token saved by
 * then.
 */
export async function openExpectedToken(
  place: TokenPlace,
  isNew: boolean,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<ExpectedToken> {
  const isGiven = isSecretGiven(API_TOKEN_VARIABLE, context.environment);
  const { subscription } = place;
  const { read, revision, isInDoubt } = openApiTokens(place, context).of(subscription);
  let current: string | undefined;
  let seen = await revision();
  let takingOver: Promise<void> | undefined;
  const takeOver = async () => {
    const found = await read();
    if (found === undefined || found === current) return;
    current = found;
    reporter.notice('another Api-Token was saved; it is expected from now on');
  };
  const look = async () => {
    const latest = await revision();
    if (latest !== seen) {
      seen = latest;
      takingOver = takeOver().catch((error: Error) =>
        reporter.warning(`another Api-Token was saved, and cannot be read: ${error.message}`, {
          kind: kindOf(error),
        }),
      );
    }
    await takingOver;
  };
  const lookNow = sharedLook(look);
  const lookInTurn = sharedLook(look, () => context.clock.sleep(WRONG_TOKEN_WATCH_MS));
  const isCurrent = async (token: string) => {
    if (isGiven) return sameSecret(token, current as string);
    if (sameSecret(token, current as string)) await lookNow();
    else if (token !== '') await lookInTurn();
    return sameSecret(token, current as string);
  };
  const timer = isGiven ? undefined : setInterval(look, WATCH_MS).unref();
  const close = () => clearInterval(timer);
  try {
    current = await requireApiToken(place, context, isNew, read);
    if (subscription !== undefined && !isGiven && (await isInDoubt())) warnOfDoubt(subscription, reporter);
  } catch (error) {
    close();
    throw error;
  }
  return { current: () => current as string, isCurrent, close };
}

/**
 * Returns a function that resolves after a look that began after its call. Calls during the pause between two
 * looks share the next one.
 */
function sharedLook(
  look: () => Promise<void>,
  pause: () => Promise<void> = async () => {},
): () => Promise<void> {
  let ready = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = async () => {
    next = undefined;
    const looking = look();
    ready = looking.then(pause);
    await looking;
  };
  return () => {
    next ??= ready.then(begin);
    return next;
  };
}

function warnOfDoubt(subscription: string, reporter: Pick<Reporter, 'warning'>): void {
  reporter.warning('a renewal was begun, but its outcome is unknown: the saved Api-Token may be invalid', {
    kind: 'service',
    next: advise`${hooktrail('subscriptions renew', subscription)} gets another`,
  });
}

/**
 * Finds the `Api-Token` or asks for it at a hidden prompt. `isNew`: ask even if one is saved, because the new
 * one replaces it. Throws `UsageError` if no token is found and nobody can be asked.
 */
async function requireApiToken(
  place: TokenPlace,
  context: Context,
  isNew: boolean,
  readSaved: () => Promise<string | undefined>,
): Promise<string> {
  const canAsk = canPrompt(context);
  let unusable: unknown;
  try {
    const found =
      isNew && canAsk ? await givenApiToken(context) : await findApiToken(place, context, readSaved);
    if (found !== undefined) return found;
  } catch (error) {
    // An unreadable store matters only if there is no terminal to ask on. Ctrl-C at its passphrase counts as
    // an answer.
    if (isSecretGiven(API_TOKEN_VARIABLE, context.environment) || error instanceof InterruptedError)
      throw error;
    unusable = error;
  }
  if (canAsk) {
    return checkedApiToken(await promptSecret('Api-Token of the subscription', context), 'Api-Token');
  }
  throw new UsageError('the Api-Token that deliveries must carry is unknown', {
    details: unusable instanceof Error ? [unusable.message] : [],
    next:
      place.subscription === undefined
        ? `set ${API_TOKEN_VARIABLE}, or run the command once on a terminal with --save-token`
        : advise`${hooktrail('subscriptions renew', place.subscription)} saves one, and makes the present one invalid; or set ${API_TOKEN_VARIABLE}`,
    cause: unusable,
  });
}

export async function probeTokenStore(place: TokenPlace, context: Context): Promise<void> {
  await openApiTokens(place, context).probe();
}

/** Returns the store's name for a message. */
export async function saveApiToken(token: string, place: TokenPlace, context: Context): Promise<string> {
  const saved = openApiTokens(place, context).of(place.subscription);
  await saved.write(token);
  await saved.forgetRenewal();
  return saved.place;
}
