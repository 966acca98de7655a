import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Random } from '../../src/sandbox/random.ts';
import { startHandler } from '../support/handler.ts';
import type { Verdict } from './verdict.ts';

/** Share of deliveries that the handler refuses at first. */
const REFUSED = 0.03;
/**
 * A killed process's request may be read so much later, if this process is not held up. A listener is started
 * again after more.
 */
export const AFTERMATH_MS = 2_000;

/**
 * A handler that refuses some deliveries, and what it took. An event may be taken twice only if the journal's
 * writer was killed between the handler's answer and the line in the journal.
 */
export async function startHandlerLedger(journal: string, random: Random, verdict: Verdict) {
  const handler = await startHandler();
  /** Milliseconds since the epoch at which each event was taken first. */
  const takenAt = new Map<string, number>();
  /** What the journal held right after each kill of a process that may have been its writer. */
  const kills: { readonly at: number; readonly held: ReadonlySet<string> }[] = [];
  /** How long this process was held up since the last kill, as on a busy machine. */
  const stalls = monitorEventLoopDelay();
  stalls.enable();
  const counts = { refused: 0, takenTwice: 0 };
  /** Events that are never refused. */
  const always = new Set<string>();
  handler.answer = ({ body }) => {
    const { eventId } = JSON.parse(body.toString()) as { readonly eventId: string };
    if (!always.has(eventId) && random.float() < REFUSED) {
      counts.refused++;
      return 503;
    }
    const first = takenAt.get(eventId);
    if (first !== undefined) takeAgain(eventId, first);
    else takenAt.set(eventId, Date.now());
    return 200;
  };
  const takeAgain = (eventId: string, first: number) => {
    counts.takenTwice++;
    // A stall may delay the connection, and then what was sent on it.
    const latenessMs = AFTERMATH_MS + (2 * stalls.max) / 1e6;
    const kill = kills.find(({ at }) => at >= first - latenessMs);
    if (kill && !kill.held.has(eventId.replaceAll('-', ''))) return;
    const why = kill ? 'the journal had it when its writer was killed' : 'no writer was killed since';
    const times = [first, ...kills.map((one) => one.at)].map((time) => new Date(time).toISOString());
    verdict.violation(
      `the handler got ${eventId} again: ${why} (first at ${times[0]}, kills at ${times.slice(1)}, ${latenessMs.toFixed(0)} ms late at most)`,
    );
  };
  return {
    url: handler.url,
    takenAt,
    counts,
    always,
    /** Call when a process that may write the journal has been killed, or is about to be. */
    noteKill: () => {
      const ids = readFileSync(journal, 'utf8').match(/^[0-9a-f]{32}(?= )/gm) ?? [];
      kills.push({ at: Date.now(), held: new Set(ids) });
      stalls.reset();
    },
    [Symbol.asyncDispose]: handler[Symbol.asyncDispose],
  };
}

export type HandlerLedger = Awaited<ReturnType<typeof startHandlerLedger>>;
