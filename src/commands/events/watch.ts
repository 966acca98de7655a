import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ClosedPipeError } from '../../errors.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import { duration, durationText, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import type { SettingFlags } from '../../settings/settings.ts';

interface Flags extends FilterFlags, FormatFlags, SettingFlags {
  readonly interval?: number;
  readonly overlap?: number;
  readonly limit?: number;
  readonly concurrency?: number;
}

const INTERVAL = 15_000;
const OVERLAP = 120_000;
const CONCURRENCY = 4;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option(
      '--interval <time>',
      `time between two polls (default: ${durationText(INTERVAL)})`,
      duration('--interval', 1000),
    )
    .option(
      '--overlap <time>',
      `how far each poll reaches back, for events that appear late (default: ${durationText(OVERLAP)})`,
      duration('--overlap', 0),
    )
    .option('-n, --limit <number>', 'stop after this many events', wholeNumber('--limit', 1))
    .option(
      '--concurrency <number>',
      `pages asked for at once, 1 to 16 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 16),
    );
  addFormatFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Prints events created from now on by the service's clock, or after --after, each
once, oldest first; ends at --before where it is given. An event that appears,
or turns FAILED under --failed, longer after its creation than --overlap is not
seen: give a longer one where the service keeps trying for longer. An outage is
told once on standard error, and what was missed is caught up. --json closes its
array when the watch ends; --jq runs on each event. Ctrl+C says how to go on.

Examples:
  $ hooktrail events watch --failed
  $ hooktrail events watch --failed --overlap 1h --ndjson |
      while read -r event; do notify "$event"; done
  $ hooktrail events watch --type document.signed --since 1h --fields eventId`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context, reporter } = call;
  const filters = eventFilters(flags, context.clock.now());
  const asked = formatOptions(flags, 'events');
  const format = asked.jq === undefined ? asked : { ...asked, format: 'ndjson' as const };
  const { withService } = await import('../../sign-in/connect.ts');
  const { startFollowing } = await import('../../events/watch/watch-run.ts');
  const { runWatch } = await import('../../events/watch/watch-run.ts');
  const { createItemWriter } = await import('../../output/create-item-writer.ts');
  const { resumeCommand } = await import('../../events/watch/watch-resume.ts');
  const { interval = INTERVAL, overlap = OVERLAP, limit = Number.POSITIVE_INFINITY } = flags;
  await withService(call, async (service) => {
    const sampled = format.format === 'table' && context.stdout.isTerminal;
    const options = { overlap, concurrency: flags.concurrency ?? CONCURRENCY, sampled };
    const { follower, sample } = await startFollowing(service, filters, options, context);
    const writer = await createItemWriter(sampled ? { ...format, sample } : format, context, reporter);
    reporter.notice(
      `watching events created after ${follower.resumeAt.text}, every ${durationText(interval)}`,
    );
    try {
      await runWatch({ follower, writer, interval, limit, context, reporter });
    } catch (error) {
      await writer.abort();
      if (!(context.signal.reason instanceof ClosedPipeError)) {
        const typed = { ...flags, interval: spelled(flags.interval), overlap: spelled(flags.overlap) };
        reporter.notice(`to go on: ${resumeCommand(typed, follower.resumeAt)}`);
      }
      throw error;
    }
    await writer.end();
  });
}

function spelled(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : durationText(milliseconds);
}
