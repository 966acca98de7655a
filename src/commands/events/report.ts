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
} from '../../events/event-flags.ts';
import type { ReportData } from '../../events/report-data.ts';
import { type FieldPath, parseFieldPaths } from '../../json/item-fields.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
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

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { file, filters, isOpened } = options;
  const { context, reporter } = call;
  const { statsWindow } = await import('../../events/statistics-window.ts');
  const { status } = statsWindow(filters, context.clock.now());
  if (status === 'SUCCESS')
    throw new UsageError(
      '--status: a report is about failed deliveries, so with only SUCCESS there is nothing to report',
    );
  const { checkTarget, writeReport, fileUrl } = await import('../../output/report/report-target.ts');
  await checkTarget(file, isOpened, context.machine);
  const page = await makePage(options, call);
  if (file === '-') {
    await context.stdout.write(page.text);
    return;
  }
  await writeReport(file, page.text, context.machine);
  reporter.notice(`wrote ${file}: ${page.summary}`);
  if (isOpened) await show(fileUrl(file), call);
}

async function makePage(options: Options, call: Call<Flags>): Promise<{ text: string; summary: string }> {
  const { context, reporter } = call;
  const { filters, limit } = options;
  const [{ reportPage }, { version }] = await Promise.all([
    import('../../output/report/report-page.ts'),
    import('../../version.ts'),
  ]);
  const { data, host } = await gather(options, call);
  if (data.stats?.moved)
    reporter.warning('events changed while they were counted: numbers may be off by these; run it again');
  const text = reportPage(data, {
    host,
    filters: filters.texts(),
    generatedAt: new Date(context.clock.now()),
    version,
    limit,
  });
  const shown = Math.min(
    limit,
    data.failures.reduce((sum, { count }) => sum + count, 0),
  );
  const failed = data.stats?.failed ?? shown;
  return {
    text,
    summary: `${failed} ${failed === 1 ? 'failure' : 'failures'}${failed > shown ? `, ${shown} of them shown` : ''}`,
  };
}

/** The contents of the report and its source. */
async function gather(
  { from, filters, by, limit, buckets, concurrency }: Options,
  call: Call<Flags>,
): Promise<{ data: ReportData; host: string }> {
  const { context, reporter } = call;
  // The status says what the table shows anyway; with both, the charts can tell how much went well.
  const both = filters.withStatuses();
  if (from !== undefined) {
    const { reportStored } = await import('../../events/stored-events.ts');
    const reading = { context, onDoubt: reporter.warning };
    return { data: await reportStored(from, both, { by, limit, buckets }, reading), host: from };
  }
  const [{ withService }, { gatherReport }] = await Promise.all([
    import('../../sign-in/session.ts'),
    import('../../events/report-data.ts'),
  ]);
  return withService(call, async (service) => ({
    data: await gatherReport(service, both, { by, limit, buckets, concurrency }, context, reporter),
    host: service.baseUrl.host,
  }));
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
