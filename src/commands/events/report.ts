import { type Command, Option } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  addStatsFlags,
  eventFilters,
  type FilterFlags,
  type FromFlags,
  type StatsFlags,
  statsOptions,
} from '../../events/event-filters.ts';
import { type FieldPath, parseFieldPaths } from '../../json/item-fields.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import { runFlags } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, StatsFlags, SettingFlags {
  readonly limit?: number;
  readonly by?: readonly FieldPath[];
  readonly open?: true;
}

const LIMIT = 200;

export const commonFlags = [
  '--since',
  '--until',
  '--type',
  '--subscription',
  '--where',
  '--by',
  '--open',
  '--from',
];

export function declare(command: Command, action: Action): void {
  command.argument('<file>', 'the page to write, such as failures.html; - is standard output');
  addFilterFlags(command);
  addFromFlag(addStatsFlags(command))
    .option(
      '-n, --limit <number>',
      `failures in the table, 1 to 5000 (default: ${LIMIT})`,
      wholeNumber('--limit', 1, 5000),
    )
    .addOption(
      new Option('--by <a,b.c>', 'add a section of the failures grouped by these fields').argParser(
        (text: string) => parseFieldPaths(text, '--by'),
      ),
    )
    .option('--open', 'show the page in the browser');
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Covers the time from --since to --until, by default the last 24 hours by the
service's clock. The page is one file that loads nothing: attach it to a ticket,
open it anywhere. An existing file is replaced.

Examples:
  $ hooktrail events report failures.html --open
  $ hooktrail events report week.html --since 7d --buckets 7
  $ hooktrail events report signed.html --type document.signed --limit 1000`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, args, context }: Call<Flags>, zone: TimeZone) {
  return {
    file: args[0] as string,
    filters: eventFilters(flags, context.clock.now(), zone),
    ...statsOptions(flags),
    from: flags.from,
    by: flags.by,
    limit: flags.limit ?? LIMIT,
    isOpened: flags.open === true,
  };
}

async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { file, filters, from, limit, isOpened } = options;
  const { context, reporter } = call;
  if (filters.statuses.length === 1 && filters.statuses[0] === 'SUCCESS')
    throw new UsageError(
      '--status: a report is about failed deliveries, so with only SUCCESS there is nothing to report',
    );
  const [{ gatherReport }, { checkTarget, fileUrl, reportPage, writeReport }] = await Promise.all([
    import('../../events/report-data.ts'),
    import('../../output/report/report-page.ts'),
  ]);
  await checkTarget(file, isOpened, context.machine);
  const data = await gatherReport(call, options);
  const page = reportPage(data, {
    filters,
    from,
    profile: from === undefined ? runFlags(call.flags, context.environment).profile : undefined,
    generatedAt: context.clock.now(),
    limit,
  });
  if (file === '-') return await context.stdout.write(page);
  await writeReport(file, page, context.machine);
  const { failed } = data.explained;
  const shown = data.failures.count;
  const which = failed > shown ? `, ${grouped(shown)} of them shown` : '';
  reporter.notice(`wrote ${file}: ${grouped(failed)} ${failed === 1 ? 'failure' : 'failures'}${which}`);
  if (isOpened) await show(fileUrl(file), call);
}

async function show(url: URL, { context, reporter }: Call): Promise<void> {
  try {
    await context.browser.open(url, context.environment['HOOKTRAIL_BROWSER'] || undefined);
  } catch (error) {
    reporter.warning(
      `the browser could not be started: ${(error as Error).message}; open ${url.href} yourself`,
    );
  }
}
