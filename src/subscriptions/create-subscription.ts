import { advise, hooktrail } from '../advice.ts';
import { fewOf, type OutputError, ServiceError, UsageError } from '../errors.ts';
import { printJson } from '../formats/item-writer.ts';
import { apiUrl, mediaType, type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { guidsIn, isGuid } from '../items/guids.ts';
import { shownAddress, typedAddress } from '../names/callback-address.ts';
import { marketplacesText } from '../names/marketplaces.ts';
import { listSubscriptions, NO_SUBSCRIPTIONS } from '../names/subscription-names.ts';
import { openApiTokens } from '../secrets/api-tokens.ts';
import { withService } from '../sign-in/session.ts';
import { canPrompt, confirm, promptText } from '../terminal/prompt.ts';
import { type ChangeCall, requireConsent } from './change-subscription.ts';
import { MAX_SHOWN } from './change-text.ts';
import { typesOnOffer } from './chosen-types.ts';
import { askForToken, keepToken, lostToken, printOnce, tokenIn, warnOfSecondToken } from './new-token.ts';
import { fateOf } from './request-fate.ts';
import { givenNames } from './subscription-flags.ts';
import { IS_ENABLED, idIn, valueIn } from './subscription-text.ts';

export interface NewSubscription {
  readonly url: string;
  readonly types: readonly string[];
  readonly marketplaces: readonly string[];
}

interface Content {
  readonly callbackUrl: string;
  readonly subscriptionRules: {
    readonly marketplaces: readonly string[];
    readonly eventTypes: readonly string[];
  };
}

export async function createSubscription(
  { url: callbackUrl, types, marketplaces: given }: NewSubscription,
  call: ChangeCall,
): Promise<void> {
  const { flags, context, reporter } = call;
  if (given.length > 0) requireConsent(flags, context);
  await withService(call, async (service, settings) => {
    const marketplaces = given.length > 0 ? given : await chooseMarketplaces(service, call);
    const eventTypes = await typesOnOffer(types, '--type', service, call.reporter);
    const content = { callbackUrl, subscriptionRules: { marketplaces, eventTypes } };
    if (flags.dryRun) {
      reporter.notice('would create this subscription');
      return await printJson(content, undefined, context, reporter);
    }
    const tokens = openApiTokens(settings, context);
    await tokens.probe();
    await askToCreate(content, call);
    const proceed = context.holdOff?.();
    try {
      const answer = await requestNew(content, settings.vendor, service);
      const token = tokenIn(answer);
      const namedId = idInAnswer(answer);
      if (token === undefined) throw namedId ? withoutToken(namedId) : unknownOutcome(NO_SUBSCRIPTION);
      const id = namedId ?? (await idInList(callbackUrl, service));
      if (id === undefined) throw lostToken(token, id, [UNNAMED], call);
      const savedIn = await keepToken(token, id, tokens, call);
      warnOfSecondToken(answer, id, reporter);
      await printNew(id, savedIn, answer, content, call);
    } finally {
      proceed?.();
    }
  });
}

async function chooseMarketplaces(
  service: Service,
  { flags, context, reporter }: ChangeCall,
): Promise<readonly string[]> {
  const listed = await listSubscriptions(service).catch(() => undefined);
  context.signal.throwIfAborted();
  const ids = [...new Set(listed?.flatMap(({ marketplaces }) => marketplaces))].sort();
  const offer = ids.length > 0 ? `your other subscriptions have ${ids.join(', ')}` : undefined;
  if (flags.yes || !canPrompt(context))
    throw new UsageError('--marketplace: needed for a subscription', {
      details: [offer ?? (listed ? NONE_LISTED : 'your other subscriptions could not be listed')],
      next: `give the id of a marketplace, as in --marketplace ${ids[0] ?? 'ID'}`,
    });
  reporter.say(offer ?? 'the service requires the id of a marketplace');
  const parse = givenNames('--marketplace');
  const check = (answer: string) => (answer === '' ? 'give the id of a marketplace' : undefined);
  return parse(await promptText('Marketplaces, with commas between them', context, check));
}

const NONE_LISTED = 'your other subscriptions name no marketplace';

async function askToCreate(
  { callbackUrl, subscriptionRules: { marketplaces, eventTypes } }: Content,
  { flags, context, reporter }: ChangeCall,
): Promise<void> {
  const lines = eventTypes.map((type) => `  ${type}`);
  const address = flags.yes ? shownAddress(callbackUrl) : typedAddress(callbackUrl);
  const title = `a new subscription of ${address}, ${marketplacesText(marketplaces)}, to`;
  const shown = [title, ...fewOf(lines, MAX_SHOWN)];
  for (const line of shown) flags.yes ? reporter.notice(line) : reporter.say(line);
  if (!flags.yes) await confirm('Create this subscription?', context, new UsageError('nothing was created'));
}

/** Sends the request, once. Throws `ServiceError` if the service refused it, or if the outcome is unknown. */
async function requestNew(content: Content, vendor: string, service: Service): Promise<HttpResponse> {
  const request = {
    url: apiUrl(service.baseUrl, '/subscriptions'),
    method: 'POST',
    headers: { 'content-type': mediaType(vendor) },
    body: JSON.stringify(content),
  };
  const refusalOf = (answer: HttpResponse) =>
    serviceError(answer, 'the subscription cannot be created', { ifNotFound: NO_SUBSCRIPTIONS });
  const fate = fateOf(await askForToken(request, service), refusalOf);
  if (fate.kind === 'done') return fate.answer;
  throw fate.kind === 'unknown' ? unknownOutcome(fate.error) : fate.error;
}

async function printNew(
  id: string,
  savedIn: string,
  answer: HttpResponse,
  { callbackUrl }: Content,
  { flags, context, reporter }: ChangeCall,
): Promise<void> {
  const shown = shownAddress(callbackUrl);
  reporter.success(`created a subscription of ${shown}; its Api-Token is saved in ${savedIn}`);
  reporter.notice(advise`next: ${hooktrail('webhooks listen --subscription', id)} expects it`);
  reporter.notice(advise`next: ${hooktrail('subscriptions token', id)} prints it, for a handler of your own`);
  if (valueIn(answer.body, IS_ENABLED) === false)
    reporter.warning('the service made it switched off', {
      kind: 'service',
      next: advise`${hooktrail('subscriptions enable', id)} switches it on`,
    });
  const print = async () => {
    if (flags.json) await printJson({ subscriptionId: id, savedIn }, undefined, context, reporter);
    else await context.stdout.write(`${id}\n`);
  };
  await printOnce(print, (cause) => unprinted(id, cause));
}

function unprinted(id: string, cause: OutputError): ServiceError {
  return new ServiceError(`the subscription ${id} was created, but could not be printed`, {
    details: [cause.message],
    next: advise`do not create it again: ${hooktrail('subscriptions get', id)} shows it, and its Api-Token is saved`,
    cause,
  });
}

const UNNAMED = 'the service did not say which subscription it made';

function unknownOutcome(failure: Error & { readonly details?: readonly string[] }): ServiceError {
  return new ServiceError('it is unknown whether the subscription was created', {
    details: [failure.message, ...(failure.details ?? [])],
    next: advise`see whether ${hooktrail('subscriptions list')} has it; if so, ${hooktrail('subscriptions renew ID')} gets its Api-Token, otherwise run the command again`,
    cause: failure,
  });
}

/** Such an answer may come from a portal or a proxy. */
const NO_SUBSCRIPTION = new Error('the answer shows no subscription and has no Api-Token');

function withoutToken(id: string): ServiceError {
  return new ServiceError(`the service made the subscription ${id} and gave no Api-Token that can be used`, {
    next: advise`${hooktrail('subscriptions renew', id)} gets one`,
  });
}

function idInAnswer({ body, headers }: HttpResponse): string | undefined {
  // A token's file is named by a GUID: other text could contain anything.
  const namedId = idIn(body)?.replace(/^\{(.*)\}$/, '$1');
  if (namedId !== undefined && isGuid(namedId)) return namedId;
  const [located] = guidsIn(headers.location ?? '').slice(-1);
  return located;
}

async function idInList(callbackUrl: string, service: Service): Promise<string | undefined> {
  const unstopped = new AbortController().signal;
  const listed = await listSubscriptions(service, unstopped).catch(() => []);
  const [one, another] = listed.filter((listing) => listing.callbackUrl === callbackUrl);
  const id = another === undefined ? one?.id : undefined;
  return id !== undefined && isGuid(id) ? id : undefined;
}
