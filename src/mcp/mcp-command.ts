import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';

export const help = `
Runs a Model Context Protocol server on standard input and output, with the
tools search_events, get_events, count_events, event_statistics,
explain_failures, subscription_health, list_event_types, list_subscriptions and
sign_in_status. It only reads. It starts without a sign-in and says how to sign
in; it opens no browser and returns no token. Answers are limited: 20 events by
default, 200 at most, 100 KB.

Examples:
  $ hooktrail mcp --profile production
  $ npx @modelcontextprotocol/inspector -- hooktrail mcp --quiet`;

export function declare(command: Command): void {
  addConnectionFlags(command);
}

export async function run(call: Call): Promise<void> {
  if (call.context.stdin.isTerminal)
    call.reporter.notice('waiting for messages of the Model Context Protocol: this command is for programs');
  const { serveMcp } = await import('./mcp-server.ts');
  await serveMcp(call);
}
