import type { Command } from 'commander';
import { UsageError } from '../errors.ts';

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

/** For commands that can show their requests instead of sending them. */
export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/** How the requests are to be shown; undefined where they are to be sent. Throws `UsageError` for both ways at once. */
export function previewForm({ dryRun, curl }: PreviewFlags): 'urls' | 'curl' | undefined {
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}
