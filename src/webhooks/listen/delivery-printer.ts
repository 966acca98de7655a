import type { Context } from '../../context.ts';
import type { Palette } from '../../terminal/palette.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { type Delivery, objectLine, shownId } from '../delivery.ts';
import type { Acceptance } from '../journal.ts';
import { shareWrites } from '../write-queue.ts';

const NEWLINE = Buffer.from('\n');

type Ended = Acceptance & { readonly delivery: Delivery; readonly ms: number };

/** Prints a line for each event: its outcome on a terminal, the event itself elsewhere. */
export class DeliveryPrinter {
  readonly #zone: TimeZone;
  readonly #palette: Palette;
  readonly #stdout: Context['stdout'];
  readonly #clock: Context['clock'];
  readonly #lines;

  constructor(zone: TimeZone, palette: Palette, { stdout, clock }: Pick<Context, 'stdout' | 'clock'>) {
    this.#zone = zone;
    this.#palette = palette;
    this.#stdout = stdout;
    this.#clock = clock;
    this.#lines = shareWrites<Buffer>(async (waiting) => {
      await stdout.write(Buffer.concat(waiting.flatMap((line) => [line, NEWLINE])), true);
    });
  }

  async printEvent({ body }: Delivery): Promise<void> {
    if (!this.#stdout.isTerminal) await this.#lines.add(objectLine(body));
  }

  printOutcome(ended: Ended): void {
    if (!this.#stdout.isTerminal) return;
    const now = this.#clock.now();
    const line = liveLine(ended, now, this.#stdout.columns, this.#zone, this.#palette);
    this.#lines.add(Buffer.from(line)).catch(() => undefined);
  }

  async flush(): Promise<void> {
    await this.#lines.inTurn(async () => {});
  }
}

/** Columns from which an id is shown whole. */
const WHOLE_ID_COLUMNS = 80;
/** Columns from which the duration is shown. */
const DURATION_COLUMNS = 100;
const MIN_TYPE_COLUMNS = 8;
const MAX_TYPE_COLUMNS = 32;

/** `12:00:01  order.created  0f8fad5b-…  200  12 ms`, with an offset in zones other than UTC. */
function liveLine(ended: Ended, now: number, columns: number, zone: TimeZone, palette: Palette): string {
  const { delivery, outcome, ms } = ended;
  const paint = { accepted: palette.good, duplicate: palette.dim, refused: palette.bad }[outcome];
  const time = zone
    .shown(`${new Date(now).toISOString().slice(0, 19)}Z`)
    .slice(11)
    .replace('Z', '');
  const id = columns < WHOLE_ID_COLUMNS ? cut(delivery.eventId, 8) : shownId(delivery.eventId).padEnd(36);
  const said = saidText(ended).padEnd(9);
  const took = columns < DURATION_COLUMNS ? '' : `${Math.round(ms)} ms`.padStart(8);
  const room = columns - time.length - id.length - said.length - took.length - 8;
  const type = cut(delivery.type, Math.min(Math.max(room, MIN_TYPE_COLUMNS), MAX_TYPE_COLUMNS));
  const line = `${palette.dim(time)}  ${type}  ${id}  `;
  return took === '' ? line + paint(said.trimEnd()) : `${line}${paint(said)}  ${palette.dim(took)}`;
}

function cut(text: string, columns: number): string {
  const line = terminalSafeLine(text);
  return line.length <= columns ? line.padEnd(columns) : `${line.slice(0, columns - 1)}…`;
}

/** Returns the status, or a word. Without an answer, the warning on standard error gives the reason. */
function saidText({ outcome, answer }: Ended): string {
  if (outcome === 'duplicate' || answer === undefined) return outcome;
  return answer.status === undefined ? 'no answer' : String(answer.status);
}
