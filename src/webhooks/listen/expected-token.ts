import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { InterruptedError, kindOf, UsageError } from '../../errors.ts';
import { type ApiTokens, openApiTokens } from '../../secrets/api-tokens.ts';
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

type SavedToken = ReturnType<ApiTokens['of']>;
type TokenCall = Pick<Call, 'context' | 'reporter'>;

/** Milliseconds between two checks for a newly saved token. */
const WATCH_MS = 500;
/** Milliseconds between two checks caused by wrong tokens: a flood of them costs no more than this. */
const WRONG_TOKEN_WATCH_MS = 100;

/**
 * The `Api-Token` that deliveries must carry. One from the store is replaced when another is saved: the
 * service invalidates the old one at once on renewal, so each delivery is compared with the token saved by
 * then.
 */
export class ExpectedToken {
  readonly #saved: SavedToken;
  readonly #isGiven: boolean;
  readonly #reporter: Pick<Reporter, 'notice' | 'warning'>;
  readonly #lookNow: () => Promise<void>;
  readonly #lookInTurn: () => Promise<void>;
  readonly #timer: NodeJS.Timeout | undefined;
  #current: string;
  /** The revision of the store that was looked at last. */
  #seen: string;
  #takingOver: Promise<void> | undefined;

  private constructor(
    { token, seen, isGiven }: { readonly token: string; readonly seen: string; readonly isGiven: boolean },
    saved: SavedToken,
    { context, reporter }: TokenCall,
  ) {
    const look = () => this.#look();
    this.#saved = saved;
    this.#isGiven = isGiven;
    this.#reporter = reporter;
    this.#lookNow = sharedLook(look);
    this.#lookInTurn = sharedLook(look, () => context.clock.sleep(WRONG_TOKEN_WATCH_MS));
    this.#timer = isGiven ? undefined : setInterval(look, WATCH_MS).unref();
    this.#current = token;
    this.#seen = seen;
  }

  /** Finds the token, or asks for it. `isNew`: asks even if one is saved, because the new one replaces it. */
  static async open(place: TokenPlace, isNew: boolean, call: TokenCall): Promise<ExpectedToken> {
    const { context, reporter } = call;
    const { subscription } = place;
    const isGiven = isSecretGiven(API_TOKEN_VARIABLE, context.environment);
    const saved = openApiTokens(place, context).of(subscription);
    const seen = await saved.revision();
    const token = await requireApiToken(place, context, isNew, saved.read);
    if (subscription !== undefined && !isGiven && (await saved.isInDoubt()))
      warnOfDoubt(subscription, reporter);
    return new ExpectedToken({ token, seen, isGiven }, saved, call);
  }

  readonly current = (): string => this.#current;

  /** Compares with the latest token saved at the time of the call. */
  readonly isCurrent = async (given: string): Promise<boolean> => {
    if (this.#isGiven) return sameSecret(given, this.#current);
    if (sameSecret(given, this.#current)) await this.#lookNow();
    else if (given !== '') await this.#lookInTurn();
    return sameSecret(given, this.#current);
  };

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const latest = await this.#saved.revision();
    if (latest !== this.#seen) {
      this.#seen = latest;
      this.#takingOver = this.#takeOver().catch((error: Error) =>
        this.#reporter.warning(`another Api-Token was saved, and cannot be read: ${error.message}`, {
          kind: kindOf(error),
        }),
      );
    }
    await this.#takingOver;
  }

  async #takeOver(): Promise<void> {
    const found = await this.#saved.read();
    if (found === undefined || found === this.#current) return;
    this.#current = found;
    this.#reporter.notice('another Api-Token was saved; it is expected from now on');
  }
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
