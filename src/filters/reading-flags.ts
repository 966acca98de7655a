import type { Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import type { FilterFlags } from './filter-flags.ts';

export const CONCURRENCY = 4;

export function addPageFlags(command: Command): Command {
  return command
    .addOption(
      new Flag(
        '--page-size <number>',
        `events per request, 1 to ${PAGE_SIZE}`,
        { preset: PAGE_SIZE },
        wholeNumber('--page-size', 1, PAGE_SIZE),
      ),
    )
    .addOption(concurrencyFlag());
}

export function concurrencyFlag(usual = CONCURRENCY): Option {
  const parse = wholeNumber('--concurrency', 1, 16);
  return new Flag('--concurrency <number>', 'requests at once, 1 to 16', { preset: usual }, parse);
}

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/** Undefined to send the requests. Throws `UsageError` for contradicting flags. */
export function previewForm({ dryRun, curl, from }: PreviewFlags & FilterFlags): 'urls' | 'curl' | undefined {
  if ((dryRun || curl) && from !== undefined)
    throw new UsageError('--from sends no requests: --dry-run and --curl have nothing to show');
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}
