import { type AdvisedCommand, hooktrail, hooktrailOver } from '../advice.ts';
import type { SummaryOptions } from '../formats/summary.ts';
import { conditionOn } from '../items/condition-text.ts';
import { isNumberOrLiteral } from '../items/exact-numbers.ts';
import { type FieldPath, pathText } from '../items/field-path.ts';
import { earlierOf, milliseconds } from '../time/instant.ts';
import { SECOND_MS } from '../time/lengths.ts';
import type { About } from './about.ts';

/** Maximum subscriptions shown. */
export const MAX_SUBSCRIPTIONS = 3;

/** Of one subscription its failures, endpoint and recovery; of several the page of each that failed. */
export function nextCommands(about: About, { from, filters }: SummaryOptions): AdvisedCommand[] {
  const { subscriptionIds, health, outage, after, isOfSeveral } = about;
  const [id, other] = subscriptionIds;
  if (id === undefined) return [];
  if (other !== undefined) return pagesOfFailing(about, from, filters);
  // The window may have failures before its last outage, which may itself have begun earlier.
  const since = outage ? earlierOf(health.firstFailed, outage.since) : (health.firstFailed ?? after);
  // Bounds are exclusive.
  const start = new Date(Math.floor(milliseconds(since) / SECOND_MS) * SECOND_MS - SECOND_MS)
    .toISOString()
    .replace('.000', '');
  const others = filters.words('since', 'until', 'subscription');
  const mine = isOfSeveral ? nameWords(about, filters.nameField) : [];
  const words = ['--subscription', id, ...mine, '--since', start, ...endWords(about, filters), ...others];
  if (health.failed === 0 && outage === undefined) return [hooktrailOver(from, 'events search', ...words)];
  const handOver =
    from === undefined ? 'webhooks recover --forward-to URL' : 'webhooks replay --failed --forward-to URL';
  return [
    hooktrailOver(from, 'events search --failed', ...words),
    ...(from === undefined && isEndpointToCheck(about) ? [hooktrail('subscriptions check', id)] : []),
    hooktrailOver(from, handOver, ...words),
  ];
}

/** Keeps events of other names out, which go to the same subscription. */
function nameWords({ ofNames }: About, nameField: FieldPath | undefined): string[] {
  const names = ofNames.map(({ name }) => (isBare(name) ? name : JSON.stringify(name)));
  const [name, another] = names;
  if (!nameField || name === undefined) return [];
  const only = conditionOn(nameField, '=', name).text;
  return ['--where', another === undefined ? only : `${pathText(nameField)} in (${names.join(', ')})`];
}

/** Without quotes, a condition compares numbers and literals as well as texts; but null only with null. */
function isBare(name: string): boolean {
  return isNumberOrLiteral(name) && name !== 'null';
}

function endWords({ before }: About, { before: given }: SummaryOptions['filters']): string[] {
  return given ? ['--until', before.text] : [];
}

/** Worst first. */
function pagesOfFailing(
  { ofSubscriptions }: About,
  from: string | undefined,
  filters: SummaryOptions['filters'],
): AdvisedCommand[] {
  const failing = ofSubscriptions.slice(0, MAX_SUBSCRIPTIONS).filter(({ failed }) => failed > 0);
  return failing.map(({ id }) => hooktrailOver(from, 'events about', id, ...filters.words('subscription')));
}

/** True if the endpoint is known and seems to be at fault: it still fails, or no other subscription does. */
function isEndpointToCheck({ address, endpoint, health, others }: About): boolean {
  const isKnown = address !== null && endpoint !== 'gone';
  const isOfEndpoint = health.state === 'failing' || others.withFailures === 0;
  return isKnown && health.failed > 0 && isOfEndpoint;
}
