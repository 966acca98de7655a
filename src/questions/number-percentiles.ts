import { MISSING } from '../items/field-cursor.ts';
import type { FieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { valueText } from '../items/json-scanner.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import { NumberSample, type Percentiles } from '../statistics/percentiles.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Fold } from './fold.ts';

/** Percentiles of a field's numbers, such as durations; numbers in quotes count. */
export class NumberPercentiles implements Fold<Percentiles | undefined> {
  readonly field: FieldPath;
  readonly #sample = new NumberSample();
  readonly #reader;

  constructor(field: FieldPath, zone: TimeZone) {
    this.field = field;
    this.#reader = new FieldReader([field], zone);
  }

  see({ items }: PageOfOutcomes): void {
    for (let item = 0; item < items.count; item++) {
      this.#reader.read(items.bytes, items.start(item));
      this.#reader.each(0, (bytes, start, end) => {
        if (start !== MISSING) this.#sample.add(valueText(bytes, start, end));
      });
    }
  }

  result(): Percentiles | undefined {
    return this.#sample.percentiles();
  }
}
