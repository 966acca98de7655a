import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { hooktrail, type Result } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { type Searching, startSearching } from './searching.ts';

/** A sandbox, and a file for the report. */
export interface Reporting extends Searching {
  readonly file: string;
  report(...args: string[]): Promise<Result>;
  page(): Promise<string>;
}

export async function startReporting(options: SandboxOptions = {}): Promise<Reporting> {
  const searching = await startSearching(options);
  const { env } = searching;
  const file = path.join(env['HOME'] as string, 'report #1 ü.html');
  return {
    ...searching,
    file,
    report: (...args) => hooktrail(['events', 'report', file, ...args], { env }),
    page: () => readFile(file, 'utf8'),
    [Symbol.asyncDispose]: () => searching[Symbol.asyncDispose](),
  };
}
