import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode, UsageError } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { FORMAT_NAMES } from '../formats/format-registry.ts';
import { wholeNumber } from '../settings/flag-values.ts';

export interface FindFlags extends EventFlags {
  readonly allProfiles?: true;
  readonly limit?: number;
  readonly exitCode?: true;
}

export const commonFlags =
  '--since --until --failed --type --subscription --all-profiles --limit --from --json --csv --output';

export const help = `
Looks for a text as a whole word in every value of the events: ids, order
numbers, names, also inside a longer text, ignoring case. 4711 is found in
PO-4711, but not in 47110, in 47.11, in a GUID or in a time; events search
--grep finds those. It reads the last 7 days unless --since says otherwise, and
prints the field that has the text.

--all-profiles looks in every profile that is signed in, each at its own
addresses.`;

export const examples = [
  'hooktrail events find PO-4711',
  'hooktrail events find anna@harbour.example --since 30d --all-profiles',
  `hooktrail events find "Harbour Freight" --json --jq '.[].field'`,
];

export function declare(command: Command): void {
  command
    .argument('<text>', 'what to look for')
    .option('--all-profiles', 'in every profile that is signed in, side by side')
    .option('-n, --limit <number>', 'only this many events, the newest', wholeNumber('--limit', 1))
    .option('--exit-code', 'exit with 10 when anything was found')
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMAT_NAMES, {
    json: 'an array of {"profile","field","item"}, each item exactly as the service wrote it',
    ndjson: 'the same, one a line',
    csv: 'a line for each event found',
  });
}

export async function run(call: Call<FindFlags>): Promise<ExitCode> {
  const { flags, args } = call;
  const text = (args[0] as string).trim();
  if (text === '') throw new UsageError('the text to look for is empty');
  if (flags.allProfiles) refuseOnePlace(flags);
  const options = summaryOptions(call, FORMAT_NAMES);
  const [{ findEverywhere }, { printFoundTexts }] = await Promise.all([
    import('./find-text.ts'),
    import('./found-text.ts'),
  ]);
  const { limit } = flags;
  const report = await findEverywhere(call, { ...options, text, limit, allProfiles: flags.allProfiles });
  await printFoundTexts(report, options, call);
  if (report.failure) throw report.failure;
  return flags.exitCode && report.found.length > 0 ? ExitCode.matched : ExitCode.done;
}

function refuseOnePlace(flags: FindFlags): void {
  const { from, profile, baseUrl, vendor } = flags;
  const names = Object.entries({
    '--from': from,
    '--profile': profile,
    '--base-url': baseUrl,
    '--vendor': vendor,
  });
  const [one] = names.filter(([, value]) => value !== undefined);
  if (one) throw new UsageError(`--all-profiles and ${one[0]} contradict each other: give one`);
}
