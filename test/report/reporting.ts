import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { hooktrail } from '../support/program.ts';
import type { SandboxOptions } from '../support/sandbox.ts';
import { startSearching } from '../support/searching.ts';

/** A sandbox, and a file for the report. */
export async function startReporting(options: SandboxOptions = {}) {
  const searching = await startSearching(options);
  const { env } = searching;
  const file = path.join(env['HOME'] as string, 'report #1 ü.html');
  return {
    ...searching,
    file,
    report: (...args: string[]) => hooktrail(['events', 'report', file, ...args], { env }),
    page: () => readFile(file, 'utf8'),
  };
}

export type Reporting = Awaited<ReturnType<typeof startReporting>>;
