import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { listFlag } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { McpFlags } from './mcp-tools.ts';

export const help = `
Runs a Model Context Protocol server on standard input and output, for clients
of 2026-07-28 and of the versions before, with the tools search_events,
get_events, count_events, event_statistics, explain_failures,
subscription_health, subscription_page, find_text, reconcile, preview_recovery,
list_event_types, list_subscriptions and sign_in_status. It only reads. It
starts without a sign-in and explains how to sign in; it opens no browser and
returns no token. Answers are limited: 20 events by default, 200 at most, 60 KB;
a cursor continues where there is more. A call has 60 s unless it asks for more.

The only files that a tool reads are those of --allow-file, for reconcile and
preview_recovery.`;

export const examples = [
  'hooktrail mcp --profile production',
  'hooktrail mcp --allow-file received.csv',
  'npx @modelcontextprotocol/inspector -- hooktrail mcp --quiet',
];

export function declare(command: Command): void {
  command.addOption(
    listFlag('--allow-file <path>', 'let the tools read event ids from this file (repeatable)'),
  );
  addConnectionFlags(command);
}

export async function run(call: Call<McpFlags>): Promise<void> {
  if (call.context.stdin.isTerminal)
    call.reporter.notice('waiting for messages of the Model Context Protocol: this command is for programs');
  const { serveMcp } = await import('./mcp-server.ts');
  await serveMcp(call);
}
