import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { type HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { namedSubscription } from '../filters/resolve-filters.ts';
import { printItem } from '../formats/item-writer.ts';
import { apiUrl, mediaType, type Service } from '../http/service.ts';
import { isGuid, pastedGuid } from '../items/guids.ts';
import { Items } from '../items/items.ts';
import { subscriptionPath } from '../names/subscription-names.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { canPrompt, confirm } from '../terminal/prompt.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { requireWritten, type WantedChange } from './change-outcome.ts';
import { changeLines, MAX_SHOWN, titleOf } from './change-text.ts';
import { matchOf, readSubscription } from './read-subscription.ts';
import type { ChangeFlags } from './subscription-flags.ts';
import {
  changesBetween,
  IS_ENABLED,
  type SubscriptionChange,
  type SubscriptionText,
} from './subscription-text.ts';

export type ChangeCall = Call<ChangeFlags & SettingFlags>;

export type Edit = (
  now: SubscriptionText,
  service: Service,
  settings: Settings<'baseUrl' | 'vendor'>,
) => SubscriptionText | Promise<SubscriptionText>;

/**
 * Reads a subscription, shows the changes of an edit, asks, and writes it back whole under its `ETag`.
 * `word`: its id or, if a person confirms the change, a part of its address. Nothing is sent twice.
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
    const change = { found, wanted, changes };
    const title = titleOf(found.text, id);
    if (changes.length === 0) {
      reporter.notice(`nothing to change: ${title}`);
      return await printOutcome(change, false, call);
    }
    if (flags.dryRun) {
      reporter.notice(`would change ${title}`);
      const lines = changeLines(changes, undefined, context.stdout.isTerminal);
      if (!flags.json) await context.stdout.write(`${terminalSafe(lines.join('\n'))}\n`);
      return await printOutcome(change, false, call);
    }
    const condition = matchOf(found);
    await askToChange(title, changes, question, call);
    const headers = { 'content-type': mediaType(settings.vendor), ...condition };
    const now = await writeBack(change, headers, service, call);
    reporter.success(`changed ${title}`);
    await printOutcome({ ...change, wanted: now }, true, call);
  });
}

async function askToChange(
  title: string,
  changes: readonly SubscriptionChange[],
  question: string,
  { flags, context, reporter }: ChangeCall,
): Promise<void> {
  const lines = changeLines(changes, MAX_SHOWN, !flags.yes).map((line) => `  ${line}`);
  for (const line of [title, ...lines]) flags.yes ? reporter.notice(line) : reporter.say(line);
  if (!flags.yes) await confirm(question, context, new UsageError('nothing was changed'));
}

/**
 * Sends the changed subscription, once, and returns it as the service has it afterwards. Throws if it was not
 * written, or if that is unknown.
 */
async function writeBack(
  change: WantedChange,
  headers: Readonly<Record<string, string>>,
  service: Service,
  { context, reporter }: ChangeCall,
): Promise<SubscriptionText> {
  const { id } = change.found;
  const url = apiUrl(service.baseUrl, subscriptionPath(id));
  // An interrupt must not leave it open if the change was made.
  const request = { url, method: 'PUT', headers, body: change.wanted.bytes, signal: undefined };
  const proceed = context.holdOff?.();
  try {
    const answer = await service.send(request).catch((error: HooktrailError) => error);
    return await requireWritten(answer, change, service, reporter);
  } finally {
    proceed?.();
  }
}

export function requireConsent({ yes, dryRun }: ChangeFlags, context: Context): void {
  if (yes || dryRun || canPrompt(context)) return;
  throw new UsageError('the change needs confirmation, and there is no terminal', {
    next: '--yes makes it without a question, and --dry-run shows it',
  });
}

/**
 * Returns the id of the subscription for a word. A part of an address suffices only if the change is
 * confirmed or shown.
 */
export async function idOf(word: string, service: Service, call: ChangeCall): Promise<string> {
  const given = pastedGuid(word);
  if (given !== undefined) return given;
  if (call.flags.yes)
    throw new UsageError(`'${word}' is not a GUID, and with --yes nobody confirms its match`, {
      next: advise`${hooktrail('subscriptions')} lists the subscriptions with their ids`,
    });
  const { id } = await namedSubscription(word, service, call.reporter);
  if (isGuid(id)) return id;
  throw new ServiceError(`the service names the subscription by something that is no GUID: ${id}`);
}

async function printOutcome(
  { found: { id }, wanted, changes }: WantedChange,
  written: boolean,
  { flags, context, reporter }: ChangeCall,
): Promise<void> {
  if (!flags.json) return;
  const shown = changes.map(({ member, before, after, added, removed }) => {
    const lists = added && removed ? `,"added":[${added.join(',')}],"removed":[${removed.join(',')}]` : '';
    return `{"member":${JSON.stringify(member)},"before":${before},"after":${after}${lists}}`;
  });
  const head = `"subscriptionId":${JSON.stringify(id)},"written":${written}`;
  const json = Buffer.from(
    `{${head},"changes":[${shown.join(',')}],"subscription":${wanted.compact().text(0).toString()}}`,
  );
  await printItem(Items.of([json]), undefined, context, reporter, Buffer.concat([json, Buffer.from('\n')]));
}

/**
 * Throws `ServiceError` if the subscription lacks its switch: written back without one, it would be switched
 * off.
 */
export function requireSwitch(now: SubscriptionText, id: string): void {
  if (typeof now.value(IS_ENABLED) === 'boolean') return;
  throw new ServiceError(`the service does not say whether the subscription ${id} is switched on`, {
    details: ['written back without that it would be switched off'],
    next: advise`say what it is to be first: ${hooktrail('subscriptions enable', id)}, or disable`,
  });
}
