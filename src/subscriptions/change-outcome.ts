import { advise, hooktrail } from '../advice.ts';
import { type HooktrailError, ServiceError } from '../errors.ts';
import { type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { changeLines, MAX_SHOWN } from './change-text.ts';
import { type ReadSubscription, readSubscription } from './read-subscription.ts';
import { isConditionRefused, ownEtagRefused } from './refused-condition.ts';
import { fateOf } from './request-fate.ts';
import {
  changesBetween,
  IS_ENABLED,
  type SubscriptionChange,
  type SubscriptionText,
} from './subscription-text.ts';

export interface WantedChange {
  readonly found: ReadSubscription;
  readonly wanted: SubscriptionText;
  readonly changes: readonly SubscriptionChange[];
}

/**
 * Finds out if a change was made, and returns the subscription as it is now. Success alone is no proof:
 * services are known to silently ignore members, so the subscription is read again. Throws an error that
 * shows the present state.
 */
export async function requireWritten(
  answer: HttpResponse | HooktrailError,
  change: WantedChange,
  service: Service,
  reporter: Reporter,
): Promise<SubscriptionText> {
  const errorOf = (refusal: HttpResponse) =>
    serviceError(refusal, `the subscription ${change.found.id} cannot be changed`);
  const fate = fateOf(answer, errorOf);
  if (fate.kind === 'done') return await requireShown(change, service, reporter);
  const { error } = fate;
  if (fate.kind === 'unknown') return await requireWrittenByReading(error, change, service, reporter);
  throw fate.answer ? await refusalOf(fate.answer, error, change, service) : error;
}

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
  const shown = others.length > 0 ? changeLines(others, MAX_SHOWN) : ['in a way that it does not show'];
  return new ServiceError(
    `somebody else changed the subscription ${found.id} meanwhile; nothing was written`,
    {
      details: [...shown, failure.message, ...failure.details],
      next: 'run the command again: it begins with the present state',
      status: answer.status,
      cause: failure,
    },
  );
}

/**
 * Reads the subscription to find out if a change whose answer was lost was made. Throws `ServiceError` if
 * not.
 */
async function requireWrittenByReading(
  failure: HooktrailError,
  change: WantedChange,
  service: Service,
  reporter: Reporter,
): Promise<SubscriptionText> {
  const again = await readAgain(change.found.id, service);
  const details = [failure.message, ...failure.details];
  if (again === undefined || missingChanges(change, again).length > 0)
    throw notKnown(change, again, details, failure);
  reporter.warning(`the change was made, though its answer was lost: ${failure.message}`, {
    kind: 'service',
  });
  return again.text;
}

async function requireShown(
  change: WantedChange,
  service: Service,
  reporter: Reporter,
): Promise<SubscriptionText> {
  const { found, wanted } = change;
  const again = await readAgain(found.id, service);
  if (again === undefined)
    throw notKnown(change, again, ['the service accepted it, but could not be read again']);
  const missing = missingChanges(change, again);
  if (missing.length > 0) throw notTaken(found.id, missing);
  warnOfSwitch(again.text, wanted, reporter);
  return again.text;
}

function missingChanges({ wanted, changes }: WantedChange, again: ReadSubscription): SubscriptionChange[] {
  // A service that lost an object has also lost the members in it.
  const isWanted = (found: string) =>
    changes.some(({ member }) => member === found || member.startsWith(`${found}.`));
  return changesBetween(again.text, wanted).filter(
    ({ member, before, after }) => isWanted(member) && !isSameAddress(before, after),
  );
}

function isSameAddress(before: string | null, after: string | null): boolean {
  const [one, other] = [before, after].map((json) => {
    const value: unknown = JSON.parse(json ?? 'null');
    return typeof value === 'string' && URL.canParse(value) ? new URL(value).href : undefined;
  });
  return one !== undefined && one === other;
}

function notTaken(id: string, missing: readonly SubscriptionChange[]): ServiceError {
  const members = missing.map(({ member }) => member).join(', ');
  return new ServiceError(
    `the service accepted the change of the subscription ${id}, but did not make it: ${members}`,
    {
      details: ['still to change:', ...changeLines(missing, MAX_SHOWN).map((line) => `  ${line}`)],
      next: advise`look at it with ${hooktrail('subscriptions get', id)}; the owner of the service knows why it was ignored`,
    },
  );
}

function notKnown(
  { found }: WantedChange,
  again: ReadSubscription | undefined,
  details: readonly string[],
  cause?: HooktrailError,
): ServiceError {
  const others = changesOfOthers(found, again);
  const state = others.length > 0 ? ['it is different now:', ...changeLines(others, MAX_SHOWN)] : [];
  return new ServiceError(`it is unknown whether the subscription ${found.id} was changed`, {
    details: [...details, ...state],
    next: advise`look at it with ${hooktrail('subscriptions get', found.id)} before you change it again`,
    cause,
  });
}

/** Returns undefined if the service does not answer. Works even after an interrupt. */
export async function readAgain(id: string, service: Service): Promise<ReadSubscription | undefined> {
  const unstopped = { signal: new AbortController().signal };
  return await readSubscription(id, service, unstopped).catch(() => undefined);
}

function changesOfOthers(found: ReadSubscription, again: ReadSubscription | undefined): SubscriptionChange[] {
  return again ? changesBetween(found.text, again.text) : [];
}

/** A subscription that was switched off by mistake gets no more deliveries. */
function warnOfSwitch(now: SubscriptionText, wanted: SubscriptionText, reporter: Reporter): void {
  const isOn = now.value(IS_ENABLED);
  if (typeof isOn !== 'boolean' || isOn === wanted.value(IS_ENABLED)) return;
  reporter.warning(`the service says that the subscription is switched ${isOn ? 'on' : 'off'} now`, {
    kind: 'service',
  });
}
