import type { FieldReader } from './field-reader.ts';
import type { Condition, Operator } from './item-conditions.ts';
import { type Comparison, comparisonOf } from './value-comparisons.ts';

const OPPOSITES: ReadonlySet<Operator> = new Set(['!=', 'missing', 'not in']);

const HOLDS: Readonly<Partial<Record<Operator, (order: number) => boolean>>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

export class ConditionMatch {
  readonly compare: Comparison;
  readonly isOpposite: boolean;
  readonly accepts: (order: number) => boolean;
  #isFulfilled = false;

  constructor(condition: Condition) {
    this.compare = comparisonOf(condition);
    this.isOpposite = OPPOSITES.has(condition.operator);
    this.accepts = HOLDS[condition.operator] ?? ((order) => order === 0);
  }

  /** Any value of the field is enough. */
  holds(reader: FieldReader, field: number): boolean {
    this.#isFulfilled = false;
    reader.each(field, this.#try);
    return this.#isFulfilled !== this.isOpposite;
  }

  readonly #try = (bytes: Buffer, start: number, end: number): void => {
    if (!this.#isFulfilled) this.#isFulfilled = this.accepts(this.compare(bytes, start, end) ?? Number.NaN);
  };
}
