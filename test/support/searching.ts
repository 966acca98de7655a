import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { hooktrail, type Result } from './program.ts';
import type { Sandbox, SandboxOptions } from './sandbox.ts';
import { accessTokenOf } from './sandbox-client.ts';
import { startSigningIn } from './signing-in.ts';

/** A sandbox, and a way to run commands against it, signed in by an access token in the environment. */
export interface Searching extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly env: Readonly<Record<string, string>>;
  search(...args: string[]): Promise<Result>;
  /** The raw query of each search that the sandbox received, in order. */
  queries(): string[];
}

export async function startSearching(options: SandboxOptions = {}): Promise<Searching> {
  const at = await startSigningIn({ events: 1000, ...options });
  const { sandbox } = at;
  const env = {
    ...at.home.env,
    HOOKTRAIL_BASE_URL: sandbox.settings.baseUrl,
    HOOKTRAIL_VENDOR: sandbox.settings.vendor,
    HOOKTRAIL_ACCESS_TOKEN: await accessTokenOf(sandbox),
  };
  return {
    sandbox,
    env,
    search: (...args) => hooktrail(['events', 'search', ...args], { env }),
    queries: () =>
      sandbox.log.flatMap(({ url: path }) =>
        path.includes('/integrator-events') ? [path.split('?')[1] ?? ''] : [],
      ),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

/** Returns the `eventId` of each line of NDJSON. */
export function idsOf(ndjson: string): string[] {
  return ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).eventId);
}

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
