import { promises as files } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { askEventTypes, eventTypeNames } from '../events/event-types.ts';
import { makeFolder } from '../files/folders.ts';
import { cacheFolder } from '../files/places.ts';
import { loadSettings } from '../settings/settings.ts';
import { withService } from '../sign-in/connect.ts';
import { createReporter } from '../terminal/reporter.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock'>;

export interface EventTypeCache {
  /** The names as the service listed them last; none where it never did. */
  readonly names: readonly string[];
  /** Whether it is time to ask again. */
  readonly isStale: boolean;
}

const DAY = 24 * 60 * 60 * 1000;
/** How long nothing is asked after a try, so that a service out of reach is not asked at every key. */
const PAUSE = 60_000;

interface Stored {
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
}

/** What is known of the event types of a profile's service. A file that is missing or damaged is an empty cache. */
export async function readEventTypes(
  profile: string | undefined,
  context: Surroundings,
): Promise<EventTypeCache> {
  const file = await cacheFile(profile, context);
  // Without a service there is nobody to ask.
  if (file === undefined) return { names: [], isStale: false };
  const { names, askedAt } = await stored(file);
  const age = context.clock.now() - askedAt;
  return { names, isStale: age < 0 || age > (names.length > 0 ? DAY : PAUSE) };
}

/** Replaces the names, or where there are none new, notes that they were asked for. */
export async function writeEventTypes(
  profile: string | undefined,
  context: Surroundings,
  names?: readonly string[],
): Promise<void> {
  const file = await cacheFile(profile, context);
  if (file === undefined) return;
  const earlier = names ?? (await stored(file)).names;
  const text = JSON.stringify({ names: earlier, askedAt: context.clock.now() } satisfies Stored);
  makeFolder(path.dirname(file));
  const temporary = `${file}.${context.machine.pid}`;
  await files.writeFile(temporary, text, { mode: 0o600 });
  await files.rename(temporary, file);
}

async function stored(file: string): Promise<Stored> {
  try {
    const { names, askedAt } = JSON.parse(await files.readFile(file, 'utf8'));
    if (Array.isArray(names) && typeof askedAt === 'number') return { names: names.map(String), askedAt };
  } catch {
    // Nobody waits for a cache: what cannot be read is asked for again.
  }
  return { names: [], askedAt: Number.NEGATIVE_INFINITY };
}

/** One file for each profile and service: an override of the URL shows other types. */
async function cacheFile(profile: string | undefined, context: Surroundings): Promise<string | undefined> {
  const settings = await loadSettings(profile === undefined ? {} : { profile }, context);
  const host = settings.baseUrl?.host;
  if (host === undefined) return undefined;
  const name = `event-types-${settings.profile}-${host.replaceAll(/[^\w.-]/g, '_')}.json`;
  return path.join(cacheFolder(context), name);
}

/** Asks the service for its event types and keeps their names; runs in the background of a shell and says nothing. */
export async function fillEventTypes(profile: string | undefined, context: Context): Promise<void> {
  const flags = profile === undefined ? {} : { profile };
  const reporter = await createReporter(context, { quiet: true });
  const { page } = await withService({ flags, context, reporter }, (service) =>
    askEventTypes(service, context.clock),
  );
  await writeEventTypes(profile, context, eventTypeNames(page.items));
}
