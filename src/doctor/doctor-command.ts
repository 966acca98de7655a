import type { Command } from 'commander';
import type { Call } from '../command.ts';
import type { ExitCode } from '../errors.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends SettingFlags {
  readonly json?: true;
}

export const help = `
Checks Node, keychain, configuration folder, locks, redirect port, certificates,
proxy, identity provider, event service, clocks and sign-in. Prints a line for
each: ok, doubtful or broken, the last two with what to do. Exits with 1 if
something is broken. The output contains no secrets: you can paste it into a
ticket.`;

export const examples = ['hooktrail doctor', 'hooktrail doctor --profile staging --json'];

export function declare(command: Command): void {
  command.option('--json', 'print the findings as a JSON array');
  addConnectionFlags(command, ['authUrl', 'baseUrl', 'clientId', 'vendor']);
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { printDiagnosis } = await import('./diagnosis.ts');
  return await printDiagnosis(call, call.flags.json === true);
}
