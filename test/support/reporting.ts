import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { type Result, run } from './command.ts';
import { type Searching, startSearching } from './searching.ts';

/** A sandbox and a file to report into. */
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
    report: (...args) => run(['events', 'report', file, ...args], { env }),
    page: () => readFile(file, 'utf8'),
    [Symbol.asyncDispose]: () => searching[Symbol.asyncDispose](),
  };
}

export const chromiumPath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

export function launchChromium(): Promise<Browser> {
  const offline = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', ...offline],
  });
}

/** What a page did that it should not: requests beyond its own file, and what its console says of errors. */
export function watchPage(page: Page): { requests: string[]; errors: string[] } {
  const seen = { requests: [] as string[], errors: [] as string[] };
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() !== 'log') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(error.message));
  return seen;
}
