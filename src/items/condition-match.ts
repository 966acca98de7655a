import type { FieldReader } from './field-reader.ts';
import type { Condition, Operator } from './item-conditions.ts';
import { type Comparison, comparisonOf } from './value-comparisons.ts';

/** The operators that hold where no value fulfils their opposite. */
const OPPOSITES: ReadonlySet<Operator> = new Set(['!=', 'missing', 'not in']);

/** The operators that hold by order; the others hold where values are equal. */
const HOLDS: Readonly<Partial<Record<Operator, (order: number) => boolean>>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** How the values of a field fulfil a condition. */
export class ConditionMatch {
  readonly compare: Comparison;
  /** True for a condition that holds where no value fulfils its opposite. */
  readonly isOpposite: boolean;
  /** True for an order, as `compare` returns it, by which a value fulfils the condition or its opposite. */
  readonly accepts: (order: number) => boolean;
  #isFulfilled = false;

  constructor(condition: Condition) {
    this.compare = comparisonOf(condition);
    this.isOpposite = OPPOSITES.has(condition.operator);
    this.accepts = HOLDS[condition.operator] ?? ((order) => order === 0);
  }

  /** True if the condition holds for the event that was read: any of the values of its field is enough. */
  holds(reader: FieldReader, field: number): boolean {
    this.#isFulfilled = false;
    reader.each(field, this.#try);
    return this.#isFulfilled !== this.isOpposite;
  }

  readonly #try = (bytes: Buffer, start: number, end: number): void => {
    if (!this.#isFulfilled) this.#isFulfilled = this.accepts(this.compare(bytes, start, end) ?? Number.NaN);
  };
}
