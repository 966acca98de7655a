import { durationText } from '../../config/durations.ts';
import type { Context } from '../../context.ts';
import { ServiceError, UnreachableError } from '../../errors.ts';
import type { ItemWriter } from '../../output/item-format.ts';
import type { Reporter } from '../../output/reporter.ts';
import { pageOf } from '../item-texts.ts';
import type { Follower } from './follower.ts';

export interface WatchRun {
  readonly follower: Follower;
  readonly writer: ItemWriter;
  /** Milliseconds between the end of a poll and the next. */
  readonly interval: number;
  readonly limit: number;
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly reporter: Reporter;
}

/** Waits longer than this are made of several, so that the wall clock is looked at: timers stand still in sleep. */
const NAP = 5000;
/** A nap that took this much longer was a sleeping machine. */
const SLEPT = 30_000;

/** Prints new events until `limit` are printed, the watch ends or the signal aborts. Outages are told and outlived. */
export async function runWatch(run: WatchRun): Promise<void> {
  const { follower, interval, limit, context, reporter } = run;
  let printed = 0;
  let trouble = false;
  while (printed < limit) {
    try {
      for await (const items of reading(follower.poll())) {
        const { length } = items.slice(0, limit - printed);
        const texts = items.slice(0, length).map(({ bytes, start, end }) => bytes.subarray(start, end));
        if (length > 0) await run.writer.write(pageOf(texts));
        printed += length;
        if (printed >= limit) return;
      }
      if (trouble) reporter.notice('the service answers again; everything since was caught up');
      trouble = false;
    } catch (error) {
      if (!(error instanceof Outage)) throw error;
      context.signal.throwIfAborted();
      if (!trouble) {
        const { message } = error.reason;
        reporter.warning(`${message}; watching on, trying again every ${durationText(interval)}`);
      }
      trouble = true;
    }
    if (follower.ended) return;
    await wait(interval, context, reporter);
  }
}

/** What a later poll may find mended. A refused sign-in is not. */
class Outage extends Error {
  readonly reason: Error;
  constructor(reason: Error) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Tells failures of the service from those of printing. */
async function* reading<Items>(polls: AsyncGenerator<Items>): AsyncGenerator<Items> {
  try {
    for (;;) {
      const { done, value } = await polls.next();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw error instanceof ServiceError || error instanceof UnreachableError ? new Outage(error) : error;
  } finally {
    await polls.return(undefined);
  }
}

async function wait(
  interval: number,
  { clock, signal }: WatchRun['context'],
  reporter: Reporter,
): Promise<void> {
  const due = clock.now() + interval;
  for (let rest = interval; rest > 0 && clock.now() < due; rest -= NAP) {
    const before = clock.now();
    await clock.sleep(Math.min(NAP, rest), signal);
    const slept = clock.now() - before - Math.min(NAP, rest);
    if (slept > SLEPT)
      reporter.notice(`the machine slept for ${durationText(Math.round(slept / 1000) * 1000)}; catching up`);
  }
}
