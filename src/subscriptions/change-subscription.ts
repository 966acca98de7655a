import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { type HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { resolveSubscriptions } from '../filters/resolve-filters.ts';
import { printItem } from '../formats/formats.ts';
import { apiUrl, mediaType, type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { Items, isGuid } from '../items/items.ts';
import { subscriptionPath } from '../names/subscription-names.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { canPrompt, confirm } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { changeLines, titleOf } from './change-text.ts';
import {
  isDone,
  isLost,
  isUnclear,
  matchOf,
  type ReadSubscription,
  readSubscription,
} from './read-subscription.ts';
import type { ChangeFlags } from './subscription-flags.ts';
import {
  changesBetween,
  IS_ENABLED,
  type SubscriptionChange,
  SubscriptionText,
} from './subscription-text.ts';

export type ChangeCall = Call<ChangeFlags & SettingFlags>;

/** Returns the subscription as it is wanted. Throws if it cannot be changed so. */
export type Edit = (
  now: SubscriptionText,
  service: Service,
  settings: Settings<'baseUrl' | 'vendor'>,
) => SubscriptionText | Promise<SubscriptionText>;

/** Elements of a list that a question shows. */
export const MOST_SHOWN = 12;

/**
 * Reads a subscription, shows what an edit would change, asks, and writes it back whole under its `ETag`.
 * `word` is its id, or, where a person confirms the change, a part of its address. Nothing is sent twice.
 */
export async function changeSubscription(
  word: string,
  question: string,
  edit: Edit,
  call: ChangeCall,
): Promise<void> {
  const { flags, context, reporter } = call;
  requireConsent(flags, context);
  await withService(call, async (service, settings) => {
    const id = await idOf(word, service, call);
    const found = await readSubscription(id, service, context);
    const wanted = await edit(found.text, service, settings);
    const changes = changesBetween(found.text, wanted);
    const title = titleOf(found.text, id);
    const outcome = { id, changes, text: wanted, written: false };
    if (changes.length === 0) {
      reporter.notice(`nothing to change: ${title}`);
      return await printOutcome(outcome, call);
    }
    if (flags.dryRun) {
      reporter.notice(`would change ${title}`);
      if (!flags.json) await context.stdout.write(`${terminalSafe(changeLines(changes).join('\n'))}\n`);
      return await printOutcome(outcome, call);
    }
    const match = matchOf(found);
    for (const line of [title, ...changeLines(changes, MOST_SHOWN).map((one) => `  ${one}`)])
      flags.yes ? reporter.notice(line) : reporter.say(line);
    if (!flags.yes) await confirm(question, context, new UsageError('nothing was changed'));
    const url = apiUrl(service.baseUrl, subscriptionPath(id));
    const headers = { 'content-type': mediaType(settings.vendor), ...match };
    // An interrupt must not leave open whether the change was made.
    const request = { url, method: 'PUT', headers, body: wanted.bytes, signal: undefined };
    const proceed = context.holdOff?.();
    try {
      const answer = await service.send(request).catch((error: HooktrailError) => error);
      await requireWritten(answer, { found, wanted, changes }, service, call);
    } finally {
      proceed?.();
    }
    reporter.success(`changed ${title}`);
    await printOutcome({ ...outcome, written: true }, call);
  });
}

/** Throws `UsageError` where nobody can be asked, and nobody said yes. */
export function requireConsent({ yes, dryRun }: ChangeFlags, context: Context): void {
  if (yes || dryRun || canPrompt(context)) return;
  throw new UsageError('nobody is there to confirm the change', {
    next: '--yes makes it without a question, and --dry-run shows it',
  });
}

/**
 * The id of the subscription that a word names. A part of an address is enough only where the change is
 * confirmed or shown.
 */
export async function idOf(word: string, service: Service, call: ChangeCall): Promise<string> {
  if (isGuid(word)) return word;
  if (call.flags.yes)
    throw new UsageError(`'${word}' is not a GUID, and with --yes nobody confirms what it stands for`, {
      next: '`hooktrail subscriptions` lists the subscriptions with their ids',
    });
  const filters = new EventFilters({ subscriptionWords: [word] });
  const { subscriptionIds } = await resolveSubscriptions(filters, service, call);
  return subscriptionIds[0] as string;
}

interface Written {
  readonly found: ReadSubscription;
  readonly wanted: SubscriptionText;
  readonly changes: readonly SubscriptionChange[];
}

/**
 * Finds out whether a change was made, by the answer, or by reading again where that says too little. Throws
 * the error that tells a person what is there now.
 */
async function requireWritten(
  answer: HttpResponse | HooktrailError,
  { found, wanted, changes }: Written,
  service: Service,
  { reporter }: ChangeCall,
): Promise<void> {
  const { id } = found;
  const isError = answer instanceof Error;
  if (!isError && isDone(answer)) return warnOfSwitch(answer, wanted, reporter);
  const failure = isError ? answer : serviceError(answer, `the subscription ${id} cannot be changed`);
  if (isError && !isLost(answer)) throw failure;
  // The command may be interrupted by now.
  const unstopped = { signal: new AbortController().signal };
  const again = await readSubscription(id, service, unstopped).catch(() => undefined);
  const others = again ? changesBetween(found.text, again.text) : [];
  const said = [failure.message, ...failure.details];
  if (!isError && !isUnclear(answer)) {
    if (!REFUSED_CONDITION.has(answer.status) && others.length === 0) throw failure;
    const shown = others.length > 0 ? changeLines(others, MOST_SHOWN) : ['in a way that it does not show'];
    throw new ServiceError(`somebody else changed the subscription ${id} meanwhile; nothing was written`, {
      details: [...shown, ...said],
      next: 'run the command again: it begins with what is there now',
      status: answer.status,
      cause: failure,
    });
  }
  const different = again && new Set(changesBetween(again.text, wanted).map(({ member }) => member));
  if (different && changes.every(({ member }) => !different.has(member)))
    return reporter.warning(`the change was made, though its answer was lost: ${failure.message}`, {
      kind: 'service',
    });
  const state = others.length > 0 ? ['it is different now:', ...changeLines(others, MOST_SHOWN)] : [];
  throw new ServiceError(`it is not known whether the subscription ${id} was changed`, {
    details: [...said, ...state],
    next: `look at it with \`hooktrail subscriptions get ${id}\` before you change it again`,
    cause: failure,
  });
}

/** Statuses for a condition that does not hold, or is missing (RFC 9110 section 13, RFC 6585 section 3). */
export const REFUSED_CONDITION = new Set([409, 412, 428]);

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

interface Outcome {
  readonly id: string;
  readonly changes: readonly SubscriptionChange[];
  readonly text: SubscriptionText;
  readonly written: boolean;
}

/** Prints what was changed as one JSON object, in which values stand as the service writes them. */
async function printOutcome(
  { id, changes, text, written }: Outcome,
  { flags, context, reporter }: ChangeCall,
): Promise<void> {
  if (!flags.json) return;
  const shown = changes.map(({ member, before, after, added, removed }) => {
    const lists = added && removed ? `,"added":[${added.join(',')}],"removed":[${removed.join(',')}]` : '';
    return `{"member":${JSON.stringify(member)},"before":${before},"after":${after}${lists}}`;
  });
  const head = `"subscriptionId":${JSON.stringify(id)},"written":${written}`;
  const json = Buffer.from(
    `{${head},"changes":[${shown.join(',')}],"subscription":${text.compact().text(0).toString()}}`,
  );
  await printItem(
    Items.of([json]),
    undefined,
    context.stdout,
    reporter,
    Buffer.concat([json, Buffer.from('\n')]),
  );
}

/**
 * The switch of a subscription. Throws `ServiceError` if the service does not tell it: what is written back
 * without it is switched off.
 */
export function requireSwitch(now: SubscriptionText, id: string): void {
  if (typeof now.value(IS_ENABLED) === 'boolean') return;
  throw new ServiceError(`the service does not say whether the subscription ${id} is switched on`, {
    details: ['written back without that it would be switched off'],
    next: `say what it is to be first: \`hooktrail subscriptions enable ${id}\`, or disable`,
  });
}
