import type { Command } from 'commander';
import { wholeNumber } from '../settings/flag-values.ts';

export interface PageFlags {
  readonly pageSize?: number;
  readonly concurrency?: number;
}

/** The page size of a read that is told none: the most that the service gives (service description, part 8). */
export const PAGE_SIZE = 500;
const CONCURRENCY = 4;

/** How a read of many pages goes about it. */
export function addPageFlags(command: Command): Command {
  return command
    .option(
      '--page-size <number>',
      `events a request, 1 to 500 (default: ${PAGE_SIZE})`,
      wholeNumber('--page-size', 1, PAGE_SIZE),
    )
    .option(
      '--concurrency <number>',
      `pages asked for at once, 1 to 16 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 16),
    );
}

/** The flags with their defaults. */
export function pageOptions({ pageSize = PAGE_SIZE, concurrency = CONCURRENCY }: PageFlags) {
  return { pageSize, concurrency };
}
