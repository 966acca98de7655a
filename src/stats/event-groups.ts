import { ServiceError } from '../errors.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-cursor.ts';
import { noSuchField } from '../items/near-field.ts';
import { NumberSample } from '../outcomes/percentiles.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';

/** Events that have the same values in the fields asked for. */
export interface EventGroup {
  /** The JSON text of each field's value; null where it is missing or null, as for `--where`. */
  readonly values: readonly (string | null)[];
  count: number;
  /** Those that failed and those that were delivered. The others do not tell. */
  failed: number;
  delivered: number;
  first: Instant | undefined;
  last: Instant | undefined;
  /** The `eventId` of one of them, where it has one. */
  readonly example: string | undefined;
  /** The numbers in the field whose percentiles are asked for; undefined without such a field. */
  readonly numbers: NumberSample | undefined;
}

const NO_EVENTS = { count: 0, failed: 0, delivered: 0, first: undefined, last: undefined };

/** The maximum number of groups. With more, the field is different in nearly every event. */
const MOST_GROUPS = 100_000;

const KNOWN = ['eventId', 'createdOn', 'publishStatus'] as const;

/**
 * Groups events by the values of some fields; without fields they are one group. It uses memory per group,
 * not per event, but for the numbers of `numberField`.
 */
export class EventGroups {
  readonly fields: readonly FieldPath[];
  readonly numberField: FieldPath | undefined;
  /** The numbers of all events; undefined without a field of numbers. */
  readonly numbers: NumberSample | undefined;
  readonly #groups = new Map<string, EventGroup>();
  readonly #cursor;
  /** Events in all groups. */
  total = 0;
  readonly #found: boolean[];
  #hasNumberField = false;
  #sample: Items | undefined;

  constructor(fields: readonly FieldPath[], numberField?: FieldPath) {
    this.fields = fields;
    this.numberField = numberField;
    this.numbers = numberField && new NumberSample();
    this.#found = fields.map(() => false);
    this.#cursor = createCursor([
      ...fields,
      ...KNOWN.map((name) => memberPath(name)),
      ...(numberField ? [numberField] : []),
    ]);
  }

  /**
   * Adds events. `haveFailed`: what is known of all of them; undefined if each says so itself. Throws
   * `ServiceError` if there are too many groups.
   */
  add(items: Items, haveFailed?: boolean): void {
    const { bytes, count } = items;
    if (count > 0) this.#sample ??= items;
    for (let item = 0; item < count; item++) {
      this.#cursor.read(bytes, items.start(item));
      const group = this.#groupOf(bytes);
      group.count++;
      this.total++;
      const outcome = this.#outcome(haveFailed);
      if (outcome === 'FAILED') group.failed++;
      if (outcome === 'SUCCESS') group.delivered++;
      noteTime(group, parseInstant(this.#known('createdOn') ?? ''));
      if (this.numbers) this.#noteNumber(bytes, group);
    }
  }

  /** Returns a warning for each field that no event has: its name may be misspelt. */
  doubts(): string[] {
    const sample = this.#sample;
    if (!sample) return [];
    const ofFields = this.fields.flatMap((field, index) =>
      this.#found[index] ? [] : [`--by: ${noSuchField(field, sample)}`],
    );
    const { numberField, numbers } = this;
    if (!numberField || numbers?.count !== 0) return ofFields;
    const doubt = this.#hasNumberField
      ? `no event has a number in ${numberField.text}`
      : noSuchField(numberField, sample);
    return [...ofFields, `--percentiles: ${doubt}`];
  }

  /** The largest groups first; groups of the same size by their values. */
  largest(): readonly EventGroup[] {
    const text = ({ values }: EventGroup) => values.join('\n');
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || (text(a) < text(b) ? -1 : 1));
  }

  /** The group of the item that the cursor has read. */
  #groupOf(bytes: Buffer): EventGroup {
    const values = this.fields.map((_, field) => this.#value(bytes, field));
    const key = values.join('\n');
    const known = this.#groups.get(key);
    if (known) return known;
    if (this.#groups.size === MOST_GROUPS) {
      const names = this.fields.map(({ text }) => text).join(',');
      throw new ServiceError(`--by ${names}: more than ${MOST_GROUPS} groups`, {
        next: 'group by fields with fewer different values, or narrow the search',
      });
    }
    const numbers = this.numbers && new NumberSample();
    const group = { ...NO_EVENTS, values, example: this.#example(bytes), numbers };
    this.#groups.set(key, group);
    return group;
  }

  #noteNumber(bytes: Buffer, group: EventGroup): void {
    const field = this.fields.length + KNOWN.length;
    const start = this.#cursor.starts[field] as number;
    if (start === MISSING) return;
    this.#hasNumberField = true;
    const text = valueText(bytes, start, this.#cursor.ends[field] as number);
    if (this.numbers?.add(text)) group.numbers?.add(text);
  }

  /** The text of a known field of the item that the cursor has read. */
  #known(name: (typeof KNOWN)[number]): string | undefined {
    return this.#cursor.text(this.fields.length + KNOWN.indexOf(name));
  }

  #outcome(haveFailed: boolean | undefined): string | undefined {
    if (haveFailed === undefined) return this.#known('publishStatus');
    return haveFailed ? 'FAILED' : 'SUCCESS';
  }

  #value(bytes: Buffer, field: number): string | null {
    const start = this.#cursor.starts[field] as number;
    if (start === MISSING) return null;
    this.#found[field] = true;
    const text = bytes.toString('utf8', start, this.#cursor.ends[field]);
    return text === 'null' ? null : text;
  }

  #example(bytes: Buffer): string | undefined {
    const start = this.#cursor.starts[this.fields.length] as number;
    if (start === MISSING) return undefined;
    return valueText(bytes, start, this.#cursor.ends[this.fields.length] as number) || undefined;
  }
}

/** Widens the time of a group to an event's. */
function noteTime(group: EventGroup, createdOn: Instant | undefined): void {
  if (!createdOn) return;
  if (!group.first || compareInstants(createdOn, group.first) < 0) group.first = createdOn;
  if (!group.last || compareInstants(createdOn, group.last) > 0) group.last = createdOn;
}
