import { ClosedPipeError, InterruptedError } from '../../errors.ts';
import { answerText, type Handler, isTaken } from '../forward.ts';
import type { Journal, Outcome } from '../journal/journal.ts';
import { shownId } from '../shown-id.ts';
import type { Delivery } from './delivery.ts';
import type { LineWriter } from './line-writer.ts';
import type { Accepted } from './receiver.ts';
import type { Refusal } from './refusal.ts';

export interface AcceptanceParts {
  readonly journal: Pick<Journal, 'once'>;
  /** Undefined where the printed line is all that is asked for. */
  readonly handler: Handler | undefined;
  readonly lines: LineWriter;
  /** Told of each delivery that was not accepted. */
  readonly onProblem: (text: string) => void;
}

/**
 * Takes deliveries: the sender hears 200 only when the event was handed over and its id is on disk, 502 otherwise, so that it
 * is sent again. To hand over is to forward, or where there is no handler to print the line.
 */
export function createAcceptance({ journal, handler, lines, onProblem }: AcceptanceParts) {
  const forward = async (delivery: Delivery, handler: Handler): Promise<boolean> => {
    const answer = await handler.hand(delivery);
    if (isTaken(answer)) return true;
    onProblem(`${shownId(delivery.eventId)}: ${answerText(answer)}`);
    return false;
  };
  const print = async (delivery: Delivery): Promise<boolean> => {
    await lines.print(delivery.line());
    return true;
  };
  return async (delivery: Delivery): Promise<Accepted | Refusal> => {
    let outcome: Outcome;
    try {
      const hand = handler ? () => forward(delivery, handler) : () => print(delivery);
      outcome = await journal.once(delivery.key, hand);
      if (handler && outcome === 'accepted') {
        // The handler has it: the line tells, and holds nobody up unless its reader has fallen far behind.
        lines.print(delivery.line()).catch(() => undefined);
        await lines.hasRoom();
      }
    } catch (error) {
      // The end of the program is no problem of the delivery.
      const isEnd = error instanceof ClosedPipeError || error instanceof InterruptedError;
      if (!isEnd) onProblem(`${shownId(delivery.eventId)}: ${messageOf(error)}`);
      return { status: 502, code: 'delivery.not_accepted', message: 'the delivery could not be accepted' };
    }
    if (outcome !== 'refused') return { status: 200, outcome };
    return { status: 502, code: 'handler.failed', message: 'the handler did not take the delivery' };
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
