import { type AdvisedCommand, advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { fewOf, ServiceError, UsageError } from '../errors.ts';
import { subscriptionWith } from '../filters/resolve-filters.ts';
import { endpointProblemText } from '../formats/endpoint-problem.ts';
import { printJson } from '../formats/item-writer.ts';
import { secondText } from '../formats/summary-words.ts';
import {
  type EndpointProbe,
  type EndpointProblem,
  type EndpointVerdict,
  NO_ADDRESS_PROBLEM,
  probeEndpoint,
  verdictOf,
} from '../http/endpoint-probe.ts';
import type { Service } from '../http/service.ts';
import { pastedGuid } from '../items/guids.ts';
import { shownAddress } from '../names/callback-address.ts';
import { listSubscriptions, type NamedSubscription, withWord } from '../names/subscription-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { canPrompt, confirm } from '../terminal/prompt.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { readSubscription } from './read-subscription.ts';
import { CALLBACK_URL } from './subscription-text.ts';

export interface CheckFlags {
  readonly allowPrivate?: true;
  readonly yes?: true;
  readonly json?: true;
}

type CheckCall = Call<CheckFlags & SettingFlags>;

interface Target {
  readonly id: string;
  readonly callbackUrl: string;
  readonly endpoint: URL | undefined;
}

interface Checked extends EndpointProbe {
  readonly subscriptionId: string;
  readonly callbackUrl: string;
  readonly shown: string | null;
  readonly verdict: EndpointVerdict;
}

const PROBES_AT_ONCE = 4;

/**
 * Probes the endpoints of the subscriptions that match a word, or of all. Throws `ServiceError` if one is
 * broken.
 */
export async function checkSubscriptions(
  word: string | undefined,
  zone: TimeZone,
  call: CheckCall,
): Promise<void> {
  const { flags, context, reporter } = call;
  if (!flags.yes && !canPrompt(context))
    throw new UsageError('connecting to the endpoints needs confirmation, and there is no terminal', {
      next: '--yes connects to them without a question',
    });
  const [targets, own] = await withService(
    call,
    async (service): Promise<[Target[], string]> => [
      await targetsOf(word, service, call),
      service.baseUrl.hostname,
    ],
  );
  if (targets.length === 0) reporter.notice('no subscription has an address to check');
  await askToConnect(targets, own, call);
  const checked: Checked[] = [];
  for (let at = 0; at < targets.length; at += PROBES_AT_ONCE) {
    context.signal.throwIfAborted();
    const group = targets.slice(at, at + PROBES_AT_ONCE);
    checked.push(...(await Promise.all(group.map((target) => check(target, call)))));
  }
  if (flags.json) await printJson(checked.map(jsonOf), undefined, context, reporter);
  else if (checked.length > 0)
    await context.stdout.write(checked.map((one) => `${linesOf(one, zone).join('\n')}\n`).join(''));
  const broken = checked.filter(({ verdict }) => verdict === 'broken');
  if (broken.length > 0) {
    const endpoints = checked.length === 1 ? 'endpoint' : 'endpoints';
    const are = broken.length === 1 ? 'is' : 'are';
    throw new ServiceError(
      `${broken.length} of ${checked.length} ${endpoints} ${are} broken, seen from this machine`,
      {
        details: fewOf(
          broken.map(({ shown, problem }) => `${shown ?? 'no address'}: ${problemText(problem, zone)}`),
        ),
        next: advise`fix the endpoint, and check again; ${recoverCommand(broken)} then hands over the missed events`,
      },
    );
  }
}

function recoverCommand(broken: readonly Checked[]): AdvisedCommand {
  const [one, another] = broken;
  const subscription = one && !another ? ['--subscription', one.subscriptionId] : [];
  return hooktrail('webhooks recover', ...subscription, '--since', 'TIME', '--forward-to', 'URL');
}

async function targetsOf(word: string | undefined, service: Service, call: CheckCall): Promise<Target[]> {
  const id = word === undefined ? undefined : pastedGuid(word);
  if (id !== undefined) {
    const { text } = await readSubscription(id, service, call.context);
    const address = text.value(CALLBACK_URL);
    return targetOf({ id, callbackUrl: typeof address === 'string' ? address : undefined });
  }
  const listed = await listSubscriptions(service);
  if (word === undefined) return listed.flatMap(targetOf);
  const found = withWord(listed, word);
  // If no address matches, the error suggests similar ones.
  return (found.length > 0 ? found : [subscriptionWith(word, listed)]).flatMap(targetOf);
}

function targetOf({ id, callbackUrl }: Pick<NamedSubscription, 'id' | 'callbackUrl'>): Target[] {
  if (callbackUrl === undefined) return [];
  const isAddress = shownAddress(callbackUrl) !== undefined;
  return [{ id, callbackUrl, endpoint: isAddress ? new URL(callbackUrl) : undefined }];
}

async function askToConnect(targets: readonly Target[], own: string, call: CheckCall): Promise<void> {
  if (call.flags.yes) return;
  const hosts = [...new Set(targets.flatMap(({ endpoint }) => endpoint?.host ?? []))];
  const foreign = hosts.filter((host) => new URL(`https://${host}`).hostname !== own);
  if (foreign.length === 0) return;
  const declined = new UsageError('nothing was connected to');
  await confirm(`Connect from this machine to ${fewOf(foreign, 8).join(', ')}?`, call.context, declined);
}

const NO_ADDRESS = {
  shown: null,
  dns: null,
  tls: null,
  http: null,
  problem: NO_ADDRESS_PROBLEM,
  verdict: 'broken',
} as const;

async function check(
  { id: subscriptionId, callbackUrl, endpoint }: Target,
  { flags, context }: CheckCall,
): Promise<Checked> {
  if (endpoint === undefined) return { ...NO_ADDRESS, subscriptionId, callbackUrl };
  const probe = await probeEndpoint(endpoint, flags.allowPrivate === true, context);
  const shown = shownAddress(endpoint.href) ?? endpoint.host;
  return { ...probe, subscriptionId, callbackUrl, shown, verdict: verdictOf(probe) };
}

function jsonOf({ subscriptionId, callbackUrl, dns, tls, http, verdict, problem }: Checked): object {
  return { subscriptionId, address: callbackUrl, dns, tls, http, verdict, problem };
}

function linesOf(
  { subscriptionId, shown, dns, tls, http, verdict, problem }: Checked,
  zone: TimeZone,
): string[] {
  const said = problem ? `${verdict}: ${problemText(problem, zone)}` : VERDICTS[verdict];
  const lines = [`${shown ?? 'no address'} (${subscriptionId}): ${said}`];
  if (dns) lines.push(`  name          ${dns.join(', ')}`);
  if (tls) {
    const trust = problem?.kind === 'untrusted' ? ', which this machine does not trust' : '';
    const host = tls.host ? 'for this host' : `for ${fewOf(tls.names, 3).join(', ') || 'no host'}`;
    const from = secondText(tls.validFrom, zone);
    lines.push(
      `  certificate   ${host}, from ${from} until ${secondText(tls.validTo, zone)}, by ${tls.issuer}${trust}`,
    );
  }
  if (http !== null) lines.push(`  HEAD          ${http}`);
  return lines.map(terminalSafeLine);
}

const VERDICTS = {
  ok: 'reachable',
  unverified: 'takes connections, without TLS; nothing was sent',
  broken: 'broken',
} as const;

function problemText(problem: EndpointProblem | null, zone: TimeZone): string {
  if (problem === null) return '';
  const advice = problem.kind === 'private' ? '; use --allow-private to connect anyway' : '';
  return endpointProblemText(problem, zone) + advice;
}
