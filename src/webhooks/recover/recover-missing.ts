import { ServiceError } from '../../errors.ts';
import { waitText } from '../../http/retry.ts';
import { createItemWriter } from '../../output/create-item-writer.ts';
import { startProgress } from '../../terminal/progress.ts';
import { createHandler } from '../forward.ts';
import { openJournal } from '../journal/open.ts';
import { foundEvents } from './found-events.ts';
import { HandOver } from './hand-over.ts';
import { LeftEvents } from './left-events.ts';
import type { Missing } from './list-missing.ts';
import { type Recovered, recover } from './recovery.ts';

export interface Recovering extends Missing {
  /** The handler's. */
  readonly url: URL;
  readonly apiToken: string | undefined;
  readonly concurrency: number;
  /** Milliseconds that a handler which takes nothing is tried again. */
  readonly retryFor: number;
  /** Milliseconds without progress until an attempt counts as failed. */
  readonly timeout: number;
}

/** Milliseconds that what is under way gets after a signal. */
const GRACE = 10_000;
const SHOWN_REASONS = 5;

/**
 * Hands over the events that the journal does not hold, prints those that stay behind, and sums up. Throws `ServiceError`
 * where any do.
 */
export async function recoverMissing(recovering: Recovering): Promise<void> {
  const { service, filters, format, file, context, reporter, url, timeout, retryFor } = recovering;
  const { clock, signal } = context;
  const { journal } = await openJournal(file, {}, context);
  const handler = createHandler(url, timeout, context);
  const writer = await createItemWriter(format, context, reporter);
  const left = new LeftEvents(writer, format);
  const progress = startProgress(context, reporter, 'recovering');
  const onWait = (reason: string, delay: number) => progress.update({ note: waitText({ reason, delay }) });
  const handOver = new HandOver(handler, { clock, signal, retryFor, onWait });
  const result: Recovered = { handed: 0, known: 0, reasons: new Map() };
  const events = foundEvents({ service, filters, context, progress });
  const tick = setInterval(() => {
    const { handed, known } = result;
    progress.update({ events: handed + known + left.count, note: `${handed} handed over` });
  }, 200);
  const onAbort = () => setTimeout(() => void handler.close(), GRACE).unref();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([
      recover({ ...recovering, events, journal, handOver, result, onLeft: (event) => left.add(event) }),
      journal.failed,
    ]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearInterval(tick);
    progress.stop();
    await left.end().catch(() => undefined);
    await handler.close();
    await journal.close();
    reporter.notice(summary(result, left.count));
  }
  if (left.count > 0) throw stayedBehind(result, left.count);
}

function summary({ handed, known }: Recovered, left: number): string {
  return `${handed} handed over; ${known} in the journal already; ${left} left`;
}

function stayedBehind({ reasons }: Recovered, count: number): ServiceError {
  const sorted = [...reasons].sort(([, one], [, other]) => other - one);
  const details = sorted.slice(0, SHOWN_REASONS).map(([reason, number]) => `${number}: ${reason}`);
  if (sorted.length > SHOWN_REASONS)
    details.push(`${sorted.length - SHOWN_REASONS} more reasons (--verbose shows each)`);
  return new ServiceError(`${count} ${count === 1 ? 'event was' : 'events were'} not handed over`, {
    details,
    next: 'the same command again tries those that are left',
  });
}
