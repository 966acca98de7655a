import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode } from '../errors.ts';
import {
  addPreviewFlags,
  concurrencyFlag,
  type PreviewFlags,
  previewForm,
} from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';

interface Flags extends EventFlags, PreviewFlags {
  readonly exitCode?: true;
}

export const commonFlags = '--since --until --failed --type --subscription --where --grep --from --exit-code';

const FORMATS = ['table', 'json'] as const;

export const help = `
Prints one number, the sum over all combinations of repeated flags. The service
counts, so no events are downloaded. If it gives no count, hooktrail reads the
events and counts them, with a notice.`;

export const examples = [
  'hooktrail events count --failed --since 1h',
  'hooktrail events count --failed --since 15m --exit-code || alert',
  'hooktrail events count --type document.signed --since 2026-11-01 --json',
];

export function declare(command: Command): void {
  command.option('--exit-code', 'exit with 10 when anything matches').addOption(concurrencyFlag());
  addSummaryFlags(addPreviewFlags(command), FORMATS, { json: '{"count":N}' });
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context, reporter } = call;
  const preview = previewForm(flags);
  const options = summaryOptions(call, FORMATS);
  const { format, jq } = options.format;
  const { countEvents } = await import('./event-count.ts');
  const count = await countEvents({ ...options, preview, mustTell: flags.exitCode }, call);
  if (count === undefined) return ExitCode.done;
  if (format === 'table') await context.stdout.write(`${count}\n`);
  else {
    const { printJson } = await import('../formats/item-writer.ts');
    await printJson({ count }, jq, context, reporter);
  }
  return flags.exitCode && count > 0 ? ExitCode.matched : ExitCode.done;
}
