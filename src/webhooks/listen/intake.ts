import { type Advice, advise, hooktrail } from '../../advice.ts';
import type { Clock } from '../../context.ts';
import { ClosedPipeError, InterruptedError } from '../../errors.ts';
import { isGuid } from '../../items/guids.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import { type Delivery, readDelivery, shownId } from '../delivery.ts';
import { answerLine, type Handler, type HandlerAnswer, isTaken } from '../forward.ts';
import type { Acceptance, Journal } from '../journal.ts';
import type { DeliveryPrinter } from './delivery-printer.ts';
import { LimitedWarnings } from './limited-warnings.ts';

/** Warnings of rejected requests per second: most come from one sender. */
const MAX_REJECTIONS = 1;
/** Warnings of failures per second: each concerns another event. */
const MAX_FAILURES = 20;

interface Counts {
  accepted: number;
  duplicates: number;
  failed: number;
  rejected: number;
  /** Included in `accepted`. */
  recovered: number;
}

const COUNTED = { accepted: 'accepted', duplicate: 'duplicates', refused: 'failed' } as const;

interface IntakeParts {
  readonly token: () => string;
  readonly journal: Journal;
  /** Undefined if events are only printed. */
  readonly handler: Handler | undefined;
  readonly forwardTo: URL | undefined;
  /** The only subscription expected to deliver; undefined for any. */
  readonly subscription: string | undefined;
  readonly clock: Clock;
  readonly printer: DeliveryPrinter;
  readonly reporter: Reporter;
}

export class Intake {
  readonly counts: Counts = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };
  foundUnderWay = 0;
  readonly #parts: IntakeParts;
  readonly #rejections: LimitedWarnings;
  readonly #failures: LimitedWarnings;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#rejections = new LimitedWarnings(MAX_REJECTIONS, parts.reporter, parts.clock);
    this.#failures = new LimitedWarnings(MAX_FAILURES, parts.reporter, parts.clock);
  }

  /** Counts a request that is not a delivery. */
  noteRejected(status: number, message: string): void {
    this.counts.rejected++;
    this.#rejections.report(`refused with ${status}: ${message}`);
  }

  /**
   * Accepts an event. The sender gets 200 only after the handler has accepted it, its line is printed and its
   * id is on disk, in this order, and 502 otherwise, which makes it send the event again. If the id were
   * journaled before the line, the second delivery would be a duplicate that nobody has seen. Never rejects.
   */
  async accept(delivery: Delivery): Promise<Acceptance> {
    const { clock, printer } = this.#parts;
    const began = clock.elapsed();
    const acceptance = await this.#handOnOnce(delivery);
    this.counts[COUNTED[acceptance.outcome]]++;
    printer.printOutcome({ ...acceptance, delivery, ms: clock.elapsed() - began });
    this.#warnOfFailure(delivery, acceptance);
    return acceptance;
  }

  async acceptFound(body: Buffer): Promise<Acceptance> {
    const apiToken = this.#parts.token();
    let delivery: Delivery;
    try {
      delivery = readDelivery(body, { contentType: 'application/json', apiToken });
    } catch (error) {
      const { message } = error as Error;
      this.#failures.report(`a found event cannot be handed over: ${message}`);
      return { outcome: 'refused', error: error as Error };
    }
    this.foundUnderWay++;
    const accepted = await this.accept(delivery).finally(() => this.foundUnderWay--);
    if (accepted.outcome === 'accepted') this.counts.recovered++;
    return accepted;
  }

  /** Prints the warnings that are held back. */
  close(): void {
    this.#rejections.close();
    this.#failures.close();
  }

  async #handOnOnce(delivery: Delivery): Promise<Acceptance> {
    const { journal, handler, printer } = this.#parts;
    let answer: HandlerAnswer | undefined;
    const handOn = async () => {
      answer = await handler?.forward(delivery);
      if (answer && !isTaken(answer)) return false;
      await printer.printEvent(delivery);
      return true;
    };
    try {
      const outcome = await journal.once(delivery.key, handOn);
      return { outcome, answer, error: undefined };
    } catch (error) {
      return { outcome: 'refused', answer, error: error as Error };
    }
  }

  #warnOfFailure({ eventId }: Delivery, { outcome, answer, error }: Acceptance): void {
    const id = shownId(eventId);
    if (error) {
      // An error caused by stopping the program is not the delivery's fault.
      const isStopped = error instanceof ClosedPipeError || error instanceof InterruptedError;
      if (!isStopped) this.#failures.report(`${id}: ${error.message}`);
    } else if (outcome === 'refused' && answer)
      this.#failures.report(`${id}: ${answerLine(answer)}`, sendAgainStep(eventId, this.#parts));
  }
}

/**
 * Returns the command that sends an event again; undefined if the id is not a GUID, since the service cannot
 * find it.
 */
function sendAgainStep(
  eventId: string,
  { forwardTo, subscription }: Pick<IntakeParts, 'forwardTo' | 'subscription'>,
): Advice | undefined {
  if (!forwardTo || !isGuid(eventId)) return undefined;
  // The handler expects the token of this subscription.
  const whose = subscription === undefined ? [] : ['--subscription', subscription];
  const replay = hooktrail('webhooks replay --id', eventId, '--forward-to', forwardTo.href, ...whose);
  return advise`${replay} sends it again`;
}

export function summaryText(counts: Counts): string {
  const { accepted, duplicates, failed, rejected, recovered } = counts;
  const copies = duplicates === 1 ? 'duplicate' : 'duplicates';
  const tries = failed === 1 ? 'failed try' : 'failed tries';
  const text = `${grouped(accepted)} accepted, ${grouped(duplicates)} ${copies}, ${grouped(failed)} ${tries}, ${grouped(rejected)} rejected`;
  if (recovered === 0) return text;
  return `${text}; ${grouped(recovered)} of the accepted ${recovered === 1 ? 'was' : 'were'} recovered`;
}
