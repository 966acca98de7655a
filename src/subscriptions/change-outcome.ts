import { advise, hooktrail } from '../advice.ts';
import { type HooktrailError, ServiceError } from '../errors.ts';
import { type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { changeLines, MOST_SHOWN } from './change-text.ts';
import { isDone, isLost, isUnclear, type ReadSubscription, readSubscription } from './read-subscription.ts';
import { isConditionRefused, ownEtagRefused } from './refused-condition.ts';
import {
  changesBetween,
  IS_ENABLED,
  idIn,
  isSubscriptionText,
  type SubscriptionChange,
  SubscriptionText,
} from './subscription-text.ts';

/** A subscription as it was read, as it is wanted, and what differs. */
export interface WantedChange {
  readonly found: ReadSubscription;
  readonly wanted: SubscriptionText;
  readonly changes: readonly SubscriptionChange[];
}

/**
 * Finds out whether a change was made, by the answer, or by reading again where that says too little. Throws
 * the error that tells a person what is there now.
 */
export async function requireWritten(
  answer: HttpResponse | HooktrailError,
  change: WantedChange,
  service: Service,
  reporter: Reporter,
): Promise<void> {
  if (answer instanceof Error) {
    if (!isLost(answer)) throw answer;
    return await requireWrittenByReading(answer, change, service, reporter);
  }
  if (isDone(answer)) {
    if (!isAbout(answer, change.found.id)) return await requireShown(change, service);
    return warnOfSwitch(answer, change.wanted, reporter);
  }
  const failure = serviceError(answer, `the subscription ${change.found.id} cannot be changed`);
  if (isUnclear(answer)) return await requireWrittenByReading(failure, change, service, reporter);
  throw await refusalOf(answer, failure, change, service);
}

/** The error for a change that the service refused: the service's own, unless somebody else was first. */
async function refusalOf(
  answer: HttpResponse,
  failure: HooktrailError,
  { found }: WantedChange,
  service: Service,
): Promise<HooktrailError> {
  const again = await readAgain(found.id, service);
  const others = changesOfOthers(found, again);
  if (others.length === 0) {
    if (!isConditionRefused(answer)) return failure;
    const own = ownEtagRefused(answer, found, again, 'nothing was written', failure);
    if (own) return own;
  }
  const shown = others.length > 0 ? changeLines(others, MOST_SHOWN) : ['in a way that it does not show'];
  return new ServiceError(
    `somebody else changed the subscription ${found.id} meanwhile; nothing was written`,
    {
      details: [...shown, failure.message, ...failure.details],
      next: 'run the command again: it begins with what is there now',
      status: answer.status,
      cause: failure,
    },
  );
}

/** Reads again to see that a change was made whose answer is lost. Throws `ServiceError` unless it was. */
async function requireWrittenByReading(
  failure: HooktrailError,
  change: WantedChange,
  service: Service,
  reporter: Reporter,
): Promise<void> {
  const again = await readAgain(change.found.id, service);
  if (!isMade(change, again)) throw notKnown(change, again, [failure.message, ...failure.details], failure);
  reporter.warning(`the change was made, though its answer was lost: ${failure.message}`, {
    kind: 'service',
  });
}

/**
 * True for an answer that shows this subscription, or nothing: that of a portal or a proxy shows something
 * else.
 */
function isAbout({ body }: HttpResponse, id: string): boolean {
  if (body.length === 0) return true;
  if (!isSubscriptionText(body)) return false;
  return (idIn(body) ?? id).toLowerCase() === id.toLowerCase();
}

/** Throws `ServiceError` unless the service shows the change, after an answer that says nothing of it. */
async function requireShown(change: WantedChange, service: Service): Promise<void> {
  const again = await readAgain(change.found.id, service);
  if (!isMade(change, again)) throw notKnown(change, again, ['the answer shows something else than it']);
}

/** True if the service has the wanted value of each member that was to change. */
function isMade({ wanted, changes }: WantedChange, again: ReadSubscription | undefined): boolean {
  if (again === undefined) return false;
  const different = new Set(changesBetween(again.text, wanted).map(({ member }) => member));
  return changes.every(({ member }) => !different.has(member));
}

function notKnown(
  { found }: WantedChange,
  again: ReadSubscription | undefined,
  details: readonly string[],
  cause?: HooktrailError,
): ServiceError {
  const others = changesOfOthers(found, again);
  const state = others.length > 0 ? ['it is different now:', ...changeLines(others, MOST_SHOWN)] : [];
  return new ServiceError(`it is not known whether the subscription ${found.id} was changed`, {
    details: [...details, ...state],
    next: advise`look at it with ${hooktrail('subscriptions get', found.id)} before you change it again`,
    cause,
  });
}

/** What the service has now; undefined if it does not say. The command may be interrupted by now. */
export async function readAgain(id: string, service: Service): Promise<ReadSubscription | undefined> {
  const unstopped = { signal: new AbortController().signal };
  return await readSubscription(id, service, unstopped).catch(() => undefined);
}

function changesOfOthers(found: ReadSubscription, again: ReadSubscription | undefined): SubscriptionChange[] {
  return again ? changesBetween(found.text, again.text) : [];
}

/**
 * A service that wrote something else than it was told has to be noticed: the subscription may be off now.
 */
function warnOfSwitch({ body }: HttpResponse, wanted: SubscriptionText, reporter: Reporter): void {
  let isOn: unknown;
  try {
    isOn = SubscriptionText.of(body).value(IS_ENABLED);
  } catch {
    // Not every service shows the subscription in its answer.
  }
  if (typeof isOn !== 'boolean' || isOn === wanted.value(IS_ENABLED)) return;
  reporter.warning(`the service says that the subscription is switched ${isOn ? 'on' : 'off'} now`, {
    kind: 'service',
  });
}
