import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Baseline } from '../explain/baseline.ts';
import { baselineFlag } from '../explain/baseline-flag.ts';
import { addFilterFlags, addFromFlag, type FilterFlags, filtersOf } from '../filters/filter-flags.ts';
import { type FieldPath, parseFieldPaths } from '../items/field-path.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import type { Division } from '../stats/buckets.ts';
import { addStatsFlags, COUNTS_AT_ONCE } from '../stats/stats-flags.ts';
import { grouped } from '../terminal/terminal-text.ts';

interface Flags extends FilterFlags, SettingFlags {
  readonly buckets?: Division;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly by?: readonly FieldPath[];
  readonly title?: string;
  readonly baseline?: Baseline;
  readonly open?: true;
}

const LIMIT = 200;

export const commonFlags =
  '--since --until --type --subscription --where --by --baseline --title --open --from';

export const help = `
Covers the last 24 hours by the service's clock unless --since says otherwise,
or with --from all events: what failures have in common, when they happened, who
is affected and still failing, and the latest failures. The page is one file
that loads nothing: attach it to a ticket, open it anywhere. An existing file is
replaced. With --buckets, days begin at midnight in the zone of the times shown.`;

export const examples = [
  'hooktrail events report failures.html --open',
  'hooktrail events report week.html --since 7d --buckets 7',
  'hooktrail events report 4711.html --title "Ticket 4711" --baseline 7d',
  'hooktrail events report signed.html --type document.signed --limit 1000',
];

export function declare(command: Command): void {
  command.argument('<file>', 'the page to write, such as failures.html; - is standard output');
  addFilterFlags(command);
  addFromFlag(addStatsFlags(command))
    .addOption(
      new Flag(
        '-n, --limit <number>',
        'failures in the table, 1 to 5000',
        { preset: LIMIT },
        wholeNumber('--limit', 1, 5000),
      ),
    )
    .option('--by <a,b.c>', 'add a section of the failures grouped by these fields', (text) =>
      parseFieldPaths(text, '--by'),
    )
    .addOption(baselineFlag())
    .option('--title <text>', 'the heading of the page, such as the number of the ticket', titleText)
    .option('--open', 'show the page in the browser');
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, context, reporter } = call;
  const { from, by, limit = LIMIT, buckets, concurrency = COUNTS_AT_ONCE, title, baseline } = flags;
  const isOpened = flags.open === true;
  const file = args[0] as string;
  const filters = filtersOf(call);
  if (filters.onlyStatus === 'SUCCESS')
    throw new UsageError(
      '--status: a report is about failed deliveries, so with only SUCCESS there is nothing to report',
    );
  checkName(file, isOpened);
  const [{ gatherReport }, { reportPage }, { writingTo }] = await Promise.all([
    import('./report-data.ts'),
    import('./report-page.ts'),
    import('../formats/output-file.ts'),
  ]);
  const profile = from === undefined ? call.reporter.runFlags.profile : undefined;
  const write = async ({ stdout }: Context) => {
    const gathered = await gatherReport(call, { filters, from, by, limit, buckets, concurrency, baseline });
    const generatedAt = context.clock.now();
    await stdout.write(reportPage(gathered, { filters, from, profile, generatedAt, title, baseline }));
    return gathered;
  };
  const { explained, failures } = await writingTo(file, context, write, 'the report');
  if (file === '-') return;
  const { failed } = explained;
  const which = failed > failures.count ? `, ${grouped(failures.count)} of them shown` : '';
  reporter.notice(`wrote ${file}: ${grouped(failed)} ${failed === 1 ? 'failure' : 'failures'}${which}`);
  if (isOpened) await show(pathToFileURL(path.resolve(file)), call);
}

function titleText(text: string): string {
  const title = text.trim();
  if (title === '') throw new UsageError('--title: the text is empty');
  return title;
}

/** Throws `UsageError` for a name that the system or people would not take for a page. */
function checkName(file: string, isOpened: boolean): void {
  // An unset variable in a script.
  if (file === '') throw new UsageError('<file>: the name of the file is empty');
  if (file === '-' && isOpened)
    throw new UsageError('--open: a page on standard output cannot be shown: name a file');
  // The system opens files by extension and might run this one.
  if (isOpened && !/\.html?$/i.test(file))
    throw new UsageError(
      `--open: '${file}' does not end in .html, so the system would not show it as a page`,
    );
  // Names that promise another format; a browser can print the page as PDF.
  if (/\.(pdf|docx?|xlsx?|csv|json|md)$/i.test(file))
    throw new UsageError(`a report is an HTML page, and '${file}' names another kind of file`, {
      next: `name it ${file.replace(/\.\w+$/, '.html')}${/pdf$/i.test(file) ? ', and print that from the browser to PDF' : ''}`,
    });
}

async function show(url: URL, { context, reporter }: Call): Promise<void> {
  try {
    await context.browser.open(url, context.environment['HOOKTRAIL_BROWSER'] || undefined);
  } catch (error) {
    reporter.warning(
      `the browser could not be started: ${(error as Error).message}; open ${url.href} yourself`,
      { kind: 'incomplete' },
    );
  }
}
