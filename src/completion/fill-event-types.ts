import type { Context } from '../context.ts';
import { eventTypeNames } from '../events/event-type-names.ts';
import { askEventTypes } from '../events/event-types.ts';
import { withService } from '../oauth/connect.ts';
import { createReporter } from '../output/reporter.ts';
import { writeEventTypes } from './event-type-cache.ts';

/** Asks the service for its event types and keeps their names; runs in the background of a shell and says nothing. */
export async function fillEventTypes(profile: string | undefined, context: Context): Promise<void> {
  const flags = profile === undefined ? {} : { profile };
  const reporter = await createReporter(context, { quiet: true });
  const call = { flags, args: [], context, reporter, invoke: async () => 0 as const };
  const { page } = await withService(call, (service) => askEventTypes(service, context.clock));
  await writeEventTypes(profile, context, eventTypeNames(page.items));
}
