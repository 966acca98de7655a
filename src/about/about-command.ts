import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { FORMAT_NAMES } from '../formats/format-registry.ts';
import { type FieldPath, parseFieldPath } from '../items/field-path.ts';

interface Flags extends EventFlags {
  readonly latencyField?: FieldPath;
}

export const commonFlags = '--since --until --type --where --latency-field --from --json --output';

export const help = `
One subscription on one page: how many events were sent and failed, compared
with the time before; since when and why; the whole span of its last outage;
whether others fail too; its endpoint, and the commands to type next. WORD is
the id of the subscription, a part of its callback address, or whole words of
the field that name-field names. It reads the last 24 hours unless --since says
otherwise, or with --from all events, and looks back 30 days for the outage.`;

export const examples = [
  'hooktrail events about hooks.harbour.example',
  'hooktrail events about "Harbour Freight" --since 7d -o markdown',
  'hooktrail events about archive --latency-field delivery.durationMs --json',
];

export function declare(command: Command): void {
  command
    .argument('<word>', 'the id of a subscription, a part of its address, or words of the name-field')
    .option(
      '--latency-field <path>',
      'percentiles of this number, such as the time a delivery took',
      (text) => parseFieldPath(text, '--latency-field'),
    )
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMAT_NAMES, {
    json: 'the same as one JSON object',
    ndjson: 'the same on one line',
    csv: 'one line, without causes and commands',
  });
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args } = call;
  const options = summaryOptions(call, FORMAT_NAMES);
  const [{ askAbout }, { printAbout }] = await Promise.all([import('./about.ts'), import('./about-text.ts')]);
  const word = (args[0] as string).trim();
  const about = await askAbout(call, { ...options, word, latencyField: flags.latencyField });
  await printAbout(about, options, call);
}
