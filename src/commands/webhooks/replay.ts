import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { type ForwardFlags, forwardTimeout, forwardTimeoutOf, handlerUrl } from '../../webhooks/flags.ts';

interface Flags extends FilterFlags, FormatFlags, ForwardFlags, SettingFlags {
  readonly forwardTo?: URL;
  readonly concurrency?: number;
  readonly rate?: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

export function declare(command: Command, action: Action): void {
  command.argument('[-]', 'read the ids of the events from standard input, one per line');
  addFilterFlags(command)
    .option('--forward-to <url>', 'the handler that gets the events', handlerUrl('--forward-to'))
    .option(
      '--concurrency <number>',
      'events forwarded at once, 1 to 64 (default: 1, which keeps their order)',
      wholeNumber('--concurrency', 1, 64),
    )
    .option('--rate <number>', 'events a second, at most', wholeNumber('--rate', 1, 10_000))
    .addOption(forwardTimeout())
    .option('--dry-run', 'list what would be replayed, and forward nothing')
    .option('-y, --yes', 'ask nothing, however many events there are');
  addFormatFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Forwards chosen events to a handler again, in order of creation: each event's
JSON as the search shows it, with content type application/json and the
Api-Token. This goes round the promise that a handler sees each event once: no
journal is asked, and none is written. \`webhooks recover\` forwards only what was
missed.

Choose events by filters, or by ids on standard input. On a terminal it asks
before it replays more than 100. What the handler refuses is listed on standard
output, and makes the exit code 1; nothing is tried twice.

Examples:
  $ hooktrail webhooks replay --id 0f8fad5b-d9cb-469f-a165-70867728950e \\
      --forward-to http://127.0.0.1:3000/hooks
  $ hooktrail webhooks replay --failed --since 2h --rate 10 \\
      --forward-to http://127.0.0.1:3000/hooks
  $ hooktrail webhooks replay - --forward-to http://127.0.0.1:3000/in < ids.txt`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, context, reporter } = call;
  const { forwardTo } = flags;
  if (args.length > 0 && args[0] !== '-') {
    throw new UsageError(`unexpected argument '${args[0]}'`, {
      next: `did you mean --id ${args[0]}?`,
    });
  }
  if (forwardTo === undefined && !flags.dryRun) {
    throw new UsageError('--forward-to is missing: the handler that gets the events', {
      next: 'name the handler, or list the events with --dry-run',
    });
  }
  const filters = eventFilters(flags, context.clock.now());
  const isFiltered = filters.texts().length > 0;
  const byIds = args[0] === '-' || (!isFiltered && !context.stdin.isTerminal);
  if (!byIds && !isFiltered) {
    throw new UsageError('no event is chosen', {
      next: 'give filters such as --id or --since, or ids on standard input with -',
    });
  }
  const format = formatOptions(flags, 'events');
  const { withService } = await import('../../sign-in/connect.ts');
  const { chosenByFilters, chosenByIds, listChosen, replay } = await import('../../webhooks/replay.ts');
  await withService(call, async (service, settings) => {
    const chosen = byIds
      ? await chosenByIds(filters, service, context)
      : await chosenByFilters(filters, service, context, reporter);
    if (byIds && chosen.length === 0) {
      throw new UsageError('no event is chosen: standard input holds no ids', {
        next: 'give filters such as --id or --since, or ids on standard input',
      });
    }
    if (forwardTo === undefined || flags.dryRun) return listChosen(chosen, format, context, reporter);
    const { apiTokenOrWarning, tokenPlace } = await import('../../webhooks/api-token.ts');
    const apiToken = await apiTokenOrWarning(tokenPlace(settings), context, reporter);
    const options = {
      forwardTo,
      forwardTimeout: forwardTimeoutOf(flags),
      concurrency: flags.concurrency ?? 1,
      rate: flags.rate,
      format,
      yes: flags.yes === true,
    };
    await replay(chosen, options, apiToken, context, reporter);
  });
}
