import { ServiceError } from '../errors.ts';
import { copyEnlarged } from '../items/array-capacity.ts';
import { memberPath } from '../items/field-path.ts';
import { createCursor } from '../items/known-fields.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import { TimeColumn } from '../items/time-column.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';

/** Memory limit: 110 MB. */
const MAX_ROWS = 6_000_000;
const FIRST_ROWS = 1024;

const READ_FIELDS = ['publishStatus', 'createdOn', 'eventType'];
const OUTCOME = 0;
const CREATED_ON = 1;
const TYPE = 2;

interface OutcomesOfType {
  readonly value: string | null;
  total: number;
  failed: number;
}

/** Times and outcomes of events, 17 bytes each, and counts by type. */
export class OutcomeTable {
  rows = 0;
  failed = 0;
  unknownOutcomes = 0;
  readonly times = new TimeColumn();
  failures = new Uint8Array(FIRST_ROWS);
  readonly #cursor = createCursor(READ_FIELDS.map(memberPath));
  /** By lower-case type, since the service ignores case. */
  readonly #types = new Map<string | null, OutcomesOfType>();

  /** Throws `ServiceError` for too many events. */
  see({ items, haveFailed }: PageOfOutcomes): void {
    const { bytes, count } = items;
    const cursor = this.#cursor;
    if (this.rows + count > MAX_ROWS) throw tooMany();
    for (let item = 0; item < count; item++) {
      cursor.read(bytes, items.start(item));
      const hasFailed = haveFailed ?? parseOutcome(cursor.text(OUTCOME));
      if (hasFailed === undefined) {
        this.unknownOutcomes++;
        continue;
      }
      this.times.pushValue(bytes, cursor.starts[CREATED_ON] as number, cursor.ends[CREATED_ON] as number);
      this.#addOutcome(hasFailed);
      this.#addToType(cursor.text(TYPE) ?? null, hasFailed);
    }
  }

  get types(): readonly Readonly<OutcomesOfType>[] {
    return [...this.#types.values()];
  }

  #addOutcome(hasFailed: boolean): void {
    if (this.rows === this.failures.length) this.failures = copyEnlarged(this.failures, 2 * this.rows);
    this.failures[this.rows] = Number(hasFailed);
    this.rows++;
    this.failed += Number(hasFailed);
  }

  #addToType(value: string | null, hasFailed: boolean): void {
    const key = value?.toLowerCase() ?? null;
    const counts = this.#types.get(key) ?? { value, total: 0, failed: 0 };
    this.#types.set(key, counts);
    counts.total++;
    counts.failed += Number(hasFailed);
  }
}

function tooMany(): ServiceError {
  return new ServiceError(
    `there are more than ${MAX_ROWS / 1e6} million events: too many to compare at once`,
    { next: 'narrow the time with --since and --until, or choose events with --type or --subscription' },
  );
}
