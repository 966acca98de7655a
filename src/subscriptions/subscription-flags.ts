import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { takes } from '../settings/flag-values.ts';
import {
  addConnectionFlags,
  isBelowLocalhost,
  isLoopback,
  withoutCredentials,
} from '../settings/setting-names.ts';
import type { Reporter } from '../terminal/reporter.ts';

export interface ChangeFlags {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
}

export function addSubscriptionArgument(command: Command): Command {
  return command.argument('<id>', 'the id of the subscription, or a part of its callback address');
}

export function addChangeFlags(command: Command, json: string): void {
  command
    .option('--dry-run', 'show what would change, and write nothing')
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .option('--json', `print one JSON object: ${json}`);
  addConnectionFlags(command);
}

export function givenNames(flag: string): (text: string, earlier?: readonly string[]) => readonly string[] {
  return (text, earlier = []) => {
    const words = text.split(',').map((word) => word.trim());
    if (!words.includes('')) return [...new Set([...earlier, ...words])];
    throw new UsageError(`${flag}: invalid value '${text}': a name is missing`);
  };
}

export const callbackUrl = takes({ type: 'url' }, (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !isBelowLocalhost(url)) return text;
  throw new UsageError(`--url: invalid value '${withoutCredentials(text)}': must be the URL of a webhook`, {
    next: 'give it whole, as in https://hooks.example.com/in',
  });
});

export function pointOut(address: string, reporter: Pick<Reporter, 'warning'>): void {
  const url = new URL(address);
  if (isLoopback(url) || url.hostname === '0.0.0.0' || url.hostname === '[::]')
    reporter.warning(`--url: ${url.host} is this machine's own address, which the service cannot reach`, {
      kind: 'usage',
    });
  else if (url.protocol === 'http:')
    reporter.warning(`--url: ${url.host} is not https: events and the Api-Token would travel in the clear`, {
      kind: 'usage',
    });
}
