import type { Advice } from '../advice.ts';
import { ServiceError } from '../errors.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { shownId } from './delivery.ts';
import { answerLine, type HandlerAnswer } from './forward.ts';
import type { FoundEvent } from './found-events.ts';

export interface LeftReason {
  /** Groups events left for the same reason: the text may quote the handler's answer and differ for each. */
  readonly kind: string;
  readonly text: string;
}

export function leftFor(text: string): LeftReason {
  return { kind: text, text };
}

export function reasonOf(answer: HandlerAnswer): LeftReason {
  const { status, redirect } = answer;
  return { kind: [status, redirect].join(' '), text: answerLine(answer) };
}

const SHOWN_REASONS = 5;

/** Events that the handler did not accept. */
export class LeftEvents {
  readonly events: FoundEvent[] = [];
  readonly #reasons = new Map<string, { readonly first: string; count: number }>();

  add(event: FoundEvent, { kind, text }: LeftReason, reporter: Pick<Reporter, 'trace'>): void {
    this.events.push(event);
    const known = this.#reasons.get(kind) ?? { first: text, count: 0 };
    known.count++;
    this.#reasons.set(kind, known);
    const id = event.eventId === undefined ? 'an event without an eventId' : shownId(event.eventId);
    reporter.trace(`${id}: ${text}`);
  }

  error(done: 'recovered' | 'replayed', next: Advice): ServiceError {
    const sorted = [...this.#reasons.values()].sort((one, other) => other.count - one.count);
    const details = sorted.slice(0, SHOWN_REASONS).map(({ first, count }) => `${grouped(count)}: ${first}`);
    const more = sorted.length - SHOWN_REASONS;
    if (more > 0)
      details.push(`${grouped(more)} more ${more === 1 ? 'reason' : 'reasons'} (--verbose shows each)`);
    const { length } = this.events;
    const message = `${eventsText(length)} ${length === 1 ? 'was' : 'were'} not ${done}`;
    return new ServiceError(message, { details, next });
  }
}
