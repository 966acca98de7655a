import path from 'node:path';
import { type HandlerServer, startHandler } from './handler.ts';
import { API_TOKEN } from './listening.ts';
import { hooktrail, type Result } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { type Searching, startSearching } from './searching.ts';

/** A sandbox with events, a handler, and `webhooks recover` between them. */
export interface Recovering extends AsyncDisposable {
  readonly searching: Searching;
  readonly handler: HandlerServer;
  readonly env: Readonly<Record<string, string>>;
  readonly journal: string;
  /** The command line of `recover`, for the sandbox's whole history. */
  args(...flags: string[]): string[];
  recover(...flags: string[]): Promise<Result>;
}

export async function startRecovering(options: SandboxOptions = {}): Promise<Recovering> {
  const searching = await startSearching({ events: 60, ...options });
  const handler = await startHandler();
  const env = { ...searching.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const journal = path.join(searching.env['HOME'] as string, 'events.journal');
  const args = (...flags: string[]) => [
    ...['webhooks', 'recover', '--after', '60d', '--journal', journal, '--forward-to', handler.url],
    ...flags,
  ];
  return {
    searching,
    handler,
    env,
    journal,
    args,
    recover: (...flags) => hooktrail(args(...flags), { env }),
    async [Symbol.asyncDispose]() {
      await handler[Symbol.asyncDispose]();
      await searching[Symbol.asyncDispose]();
    },
  };
}
