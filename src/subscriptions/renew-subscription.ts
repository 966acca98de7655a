import { advise, hooktrail } from '../advice.ts';
import { type HooktrailError, type OutputError, ServiceError, UsageError } from '../errors.ts';
import { printJson } from '../formats/item-writer.ts';
import { apiUrl, mediaType, type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { subscriptionPath } from '../names/subscription-names.ts';
import { openApiTokens } from '../secrets/api-tokens.ts';
import { withService } from '../sign-in/session.ts';
import { confirm } from '../terminal/prompt.ts';
import { readAgain } from './change-outcome.ts';
import { type ChangeCall, idOf, requireConsent } from './change-subscription.ts';
import { titleOf } from './change-text.ts';
import { askForToken, keepToken, printOnce, tokenIn, warnOfSecondToken } from './new-token.ts';
import { matchOf, type ReadSubscription, readSubscription } from './read-subscription.ts';
import { isConditionRefused, ownEtagRefused } from './refused-condition.ts';
import { fateOf } from './request-fate.ts';
import { isSubscriptionText } from './subscription-text.ts';

export async function renewToken(word: string, call: ChangeCall): Promise<void> {
  const { flags, context, reporter } = call;
  requireConsent(flags, context);
  await withService(call, async (service, settings) => {
    const id = await idOf(word, service, call);
    const found = await readSubscription(id, service, context);
    const title = titleOf(found.text, id);
    if (flags.dryRun) {
      reporter.notice(`would renew the Api-Token of ${title}`);
      if (!flags.json) return;
      return await printJson({ subscriptionId: id, savedIn: null }, undefined, context, reporter);
    }
    const headers = { 'content-type': mediaType(settings.vendor), ...matchOf(found) };
    const tokens = openApiTokens(settings, context);
    await tokens.probe();
    if (!flags.yes) {
      reporter.say(`the Api-Token of ${title} becomes invalid at once, for every handler that has it`);
      await confirm('Renew it?', context, new UsageError('nothing was renewed'));
    }
    const store = tokens.of(id);
    await store.noteRenewal();
    const proceed = context.holdOff?.();
    try {
      const { answer, token } = await requestAnother(found, headers, store.forgetRenewal, service);
      const savedIn = await keepToken(token, id, tokens, call);
      warnOfSecondToken(answer, id, reporter);
      reporter.success(`renewed the Api-Token of ${title}; it is saved in ${savedIn}`);
      reporter.notice(
        advise`next: ${hooktrail('subscriptions token', id)} prints it, for each handler of your own; a listener with --subscription has it`,
      );
      if (!flags.json) return;
      const print = () => printJson({ subscriptionId: id, savedIn }, undefined, context, reporter);
      await printOnce(print, (cause) => unprinted(id, cause));
    } finally {
      proceed?.();
    }
  });
}

function unprinted(id: string, cause: OutputError): ServiceError {
  return new ServiceError(`the Api-Token of ${id} was renewed, but that could not be printed`, {
    details: [cause.message],
    next: advise`do not renew it again: the new one is saved, and ${hooktrail('subscriptions token', id)} prints it`,
    cause,
  });
}

/**
 * Sends the request, once. Its `Content-Type` is required although it has no body. `onRefused`: called if the
 * old token is still valid.
 */
async function requestAnother(
  found: ReadSubscription,
  headers: Readonly<Record<string, string>>,
  onRefused: () => Promise<void>,
  service: Service,
): Promise<{ readonly answer: HttpResponse; readonly token: string }> {
  const { id } = found;
  const url = apiUrl(service.baseUrl, `${subscriptionPath(id)}/renew`);
  const refusalOf = (answer: HttpResponse) =>
    serviceError(answer, 'the Api-Token cannot be renewed', { ifNotFound: NO_RENEWAL });
  const fate = fateOf(await askForToken({ url, method: 'POST', headers }, service), refusalOf);
  if (fate.kind === 'unknown') throw unknownOutcome(id, fate.error);
  if (fate.kind === 'refused') {
    await onRefused();
    throw await renewalRefused(fate.answer, fate.error, found, service);
  }
  const { answer } = fate;
  const token = tokenIn(answer);
  if (token !== undefined) return { answer, token };
  if (answer.body.length > 0 && !isSubscriptionText(answer.body))
    throw unknownOutcome(id, new ServiceError('the answer shows no subscription and has no Api-Token'));
  throw new ServiceError(`the service renewed the Api-Token of ${id} but sent no usable one`, {
    next: advise`the old one may be invalid: ${hooktrail('subscriptions renew', id)} asks for another`,
  });
}

async function renewalRefused(
  answer: HttpResponse | undefined,
  error: HooktrailError,
  found: ReadSubscription,
  service: Service,
): Promise<HooktrailError> {
  if (!answer || !isConditionRefused(answer)) return error;
  const again = await readAgain(found.id, service);
  const own = ownEtagRefused(answer, found, again, 'nothing was renewed', error);
  return own ?? changedMeanwhile(found.id, answer.status, error);
}

function changedMeanwhile(id: string, status: number, { details }: HooktrailError): ServiceError {
  return new ServiceError(`somebody else changed the subscription ${id} meanwhile; nothing was renewed`, {
    details,
    next: 'run the command again, if nobody else renewed the token',
    status,
  });
}

const NO_RENEWAL = 'this service may not renew tokens';

function unknownOutcome(id: string, failure: HooktrailError): ServiceError {
  return new ServiceError(`it is unknown whether the Api-Token of ${id} was renewed`, {
    details: [failure.message, ...failure.details, 'the old one may be invalid, and a new one is lost'],
    next: advise`${hooktrail('subscriptions renew', id)} again gets another`,
    cause: failure,
  });
}
