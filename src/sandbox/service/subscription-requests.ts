import type { RenewHeader, SandboxSettings } from '../sandbox-options.ts';
import type { Issue } from '../shapes/service-shape.ts';
import { eventTypes, parseGuid } from '../store/event-item.ts';
import type {
  KeptSubscription,
  SubscriptionContent,
  SubscriptionStore,
} from '../store/subscription-store.ts';
import { ServiceFailure } from './service-failure.ts';
import type { Operation, OperationAnswer, OperationRequest } from './service-operation.ts';

/**
 * The requests for subscriptions. The published service does not document the status for a missing or
 * outdated `If-Match`; these follow RFC 6585 section 3 and RFC 9110 section 13.1.1.
 */
export function subscriptionOperations(
  { baseUrl, vendor }: Pick<SandboxSettings, 'baseUrl' | 'vendor'>,
  store: SubscriptionStore,
  renewHeader: RenewHeader = 'Api-Key',
): readonly Operation[] {
  const mediaType = `application/vnd.${vendor}.v1+json`;
  const collection = `${baseUrl}/subscriptions`;

  function resourceOf({ id, content }: KeptSubscription): object {
    const { callbackUrl, isEnabled, subscriptionRules, others } = content;
    const href = `${collection}/id/${id}`;
    return { href, subscriptionId: id, callbackUrl, isEnabled, subscriptionRules, ...others };
  }

  function answerWith(subscription: KeptSubscription, more: Partial<OperationAnswer> = {}): OperationAnswer {
    const { headers, ...rest } = more;
    const body = JSON.stringify(resourceOf(subscription));
    return { ...rest, headers: { ETag: subscription.etag, ...headers }, body };
  }

  function listMine(): OperationAnswer {
    const items = store.active().map(resourceOf);
    return { body: JSON.stringify({ href: `${collection}/mine`, count: items.length, items }) };
  }

  async function create(request: OperationRequest): Promise<OperationAnswer> {
    const given = await readObject(request, mediaType);
    // The published service does not document `isEnabled` here: a new subscription is on unless this is
    // false.
    const subscription = store.create(contentOf({ isEnabled: true, ...given }));
    const headers = {
      Location: `${collection}/id/${subscription.id}`,
      'Api-Token': subscription.apiToken,
    };
    return answerWith(subscription, { status: 201, headers });
  }

  async function replace(request: OperationRequest): Promise<OperationAnswer> {
    const given = await readObject(request, mediaType);
    const subscription = unchanged(request, store);
    const { subscriptionId } = given;
    if (subscriptionId !== undefined && subscriptionId !== subscription.id)
      throw new ServiceFailure(400, wrong('subscriptionId', 'is not the one in the path'));
    store.replace(subscription, contentOf(given));
    return NO_CONTENT;
  }

  function renew(request: OperationRequest): OperationAnswer {
    requireMediaType(request, mediaType);
    const { apiToken } = store.renew(unchanged(request, store));
    return { ...NO_CONTENT, headers: { [renewHeader]: apiToken } };
  }

  return [
    { method: 'POST', path: '/subscriptions', run: create },
    { method: 'GET', path: '/subscriptions/mine', run: listMine },
    { method: 'GET', path: '/subscriptions/id/{id}', run: (request) => answerWith(existing(request, store)) },
    { method: 'PUT', path: '/subscriptions/id/{id}', run: replace },
    { method: 'POST', path: '/subscriptions/id/{id}/renew', run: renew },
  ];
}

const NO_CONTENT: OperationAnswer = { status: 204, body: '' };

function existing({ id }: OperationRequest, store: SubscriptionStore): KeptSubscription {
  const subscription = store.find(parseGuid(id) ?? id);
  if (subscription) return subscription;
  const message = `there is no subscription '${id}'`;
  throw new ServiceFailure(404, { code: 'subscription.not_found', message });
}

function unchanged(request: OperationRequest, store: SubscriptionStore): KeptSubscription {
  const subscription = existing(request, store);
  const condition = request.headers['if-match'];
  if (condition === undefined) {
    const message = 'the request needs If-Match with the ETag of the last GET';
    throw new ServiceFailure(428, {
      code: 'subscription.precondition_required',
      message,
      property: 'If-Match',
    });
  }
  const tags = condition.split(',').map((tag) => tag.trim());
  if (!tags.includes('*') && !tags.includes(subscription.etag)) {
    const message = 'the subscription has been changed since the ETag in If-Match';
    throw new ServiceFailure(412, {
      code: 'subscription.precondition_failed',
      message,
      property: 'If-Match',
    });
  }
  return subscription;
}

type GivenObject = Readonly<Record<string, unknown>>;

function requireMediaType({ headers }: OperationRequest, mediaType: string): void {
  const [given = ''] = (headers['content-type'] ?? '').split(';');
  if (given.trim().toLowerCase() === mediaType.toLowerCase()) return;
  throw new ServiceFailure(415, {
    code: 'subscription.unsupported_media_type',
    message: `the Content-Type must be ${mediaType}`,
    property: 'Content-Type',
  });
}

async function readObject(request: OperationRequest, mediaType: string): Promise<GivenObject> {
  requireMediaType(request, mediaType);
  const text = await request.body();
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Invalid JSON gets the same answer as JSON that is not an object.
  }
  throw new ServiceFailure(400, {
    code: 'subscription.malformed_body',
    message: 'the body is no JSON object',
  });
}

/**
 * Reads the members that a subscription's owner decides. `isEnabled` is false by default.
 *
 * @throws ServiceFailure 400 that names all invalid members.
 */
function contentOf(given: GivenObject): SubscriptionContent {
  const { href: _, subscriptionId: __, callbackUrl, isEnabled = false, subscriptionRules, ...others } = given;
  const issues = [...issuesOfAddress(callbackUrl), ...issuesOfRules(subscriptionRules)];
  if (typeof isEnabled !== 'boolean') issues.push(wrong('isEnabled', 'is neither true nor false'));
  if (issues.length > 0) throw new ServiceFailure(400, issues);
  const { marketplaces, eventTypes: types } = subscriptionRules as Rules;
  return {
    callbackUrl: callbackUrl as string,
    isEnabled: isEnabled as boolean,
    subscriptionRules: { marketplaces, eventTypes: types },
    others,
  };
}

interface Rules {
  readonly marketplaces: readonly string[];
  readonly eventTypes: readonly string[];
}

function issuesOfAddress(given: unknown): Issue[] {
  if (given === undefined) return [missing('callbackUrl')];
  if (typeof given === 'string' && /^https?:\/\/[^/]/.test(given) && URL.canParse(given)) return [];
  return [wrong('callbackUrl', 'is not the address of a webhook')];
}

function issuesOfRules(rules: unknown): Issue[] {
  if (rules === undefined) return [missing('subscriptionRules')];
  if (!isObject(rules)) return [wrong('subscriptionRules', 'is not an object')];
  const { marketplaces, eventTypes: types } = rules;
  const issues: Issue[] = [];
  if (marketplaces === undefined) issues.push(missing('subscriptionRules.marketplaces'));
  else if (!isTexts(marketplaces) || marketplaces.length === 0)
    issues.push(wrong('subscriptionRules.marketplaces', 'is not a list of marketplaces'));
  if (types === undefined) issues.push(missing('subscriptionRules.eventTypes'));
  else if (!isTexts(types) || types.length === 0)
    issues.push(wrong('subscriptionRules.eventTypes', 'is not a list of event types'));
  else {
    const unknown = types.filter((type) => !eventTypes.some(({ name }) => name === type));
    const property = 'subscriptionRules.eventTypes';
    issues.push(...unknown.map((type) => wrong(property, `has '${type}', which is not on offer`)));
  }
  return issues;
}

function missing(property: string): Issue {
  return { code: 'subscription.missing_property', message: `'${property}' is required`, property };
}

function wrong(property: string, problem: string): Issue {
  return { code: 'subscription.invalid_value', message: `'${property}' ${problem}`, property };
}

function isObject(value: unknown): value is GivenObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
