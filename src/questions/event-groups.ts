import { ServiceError } from '../errors.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { valueText } from '../items/json-scanner.ts';
import { UnseenFields } from '../items/near-field.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import { NumberSample } from '../statistics/percentiles.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Fold } from './fold.ts';
import { GroupedValues, MAX_GROUPS, textsOfKey } from './grouped-values.ts';

export interface EventGroup {
  /** JSON text by field; null if missing or null, as for `--where`. */
  readonly values: readonly (string | null)[];
  count: number;
  /** Events of unknown outcome are in neither. */
  failed: number;
  delivered: number;
  first: Instant | undefined;
  last: Instant | undefined;
  readonly example: string | undefined;
  readonly numbers: NumberSample | undefined;
}

const NO_EVENTS = { count: 0, failed: 0, delivered: 0, first: undefined, last: undefined };

export function groupWithoutEvents(value: string): EventGroup {
  return { ...NO_EVENTS, values: [value], example: undefined, numbers: undefined };
}

const KNOWN = ['eventId', 'createdOn', 'publishStatus'] as const;

interface Facts {
  readonly hasFailed: boolean | undefined;
  readonly createdOn: Instant | undefined;
}

/**
 * Groups events by the values of some fields; without fields they are one group. An event with several
 * values, in the elements of a list, is in the group of each. Memory grows with groups, not events, apart
 * from `numberField`.
 */
export class EventGroups implements Fold<readonly EventGroup[]> {
  readonly fields: readonly FieldPath[];
  readonly numberField: FieldPath | undefined;
  readonly numbers: NumberSample | undefined;
  withoutNumber = 0;
  readonly #maxGroups: number;
  readonly #groups = new Map<string, EventGroup>();
  readonly #reader;
  readonly #values;
  /** Each event counts once, even in several groups. Events of unknown outcome are only in the total. */
  total = 0;
  failed = 0;
  delivered = 0;
  readonly #unseen;
  #hasNumberField = false;

  constructor(fields: readonly FieldPath[], zone: TimeZone, numberField?: FieldPath, maxGroups = MAX_GROUPS) {
    this.fields = fields;
    this.#maxGroups = maxGroups;
    this.numberField = numberField;
    this.numbers = numberField && new NumberSample();
    const known = KNOWN.map((name) => memberPath(name));
    this.#reader = new FieldReader([...fields, ...known, ...(numberField ? [numberField] : [])], zone);
    this.#unseen = new UnseenFields(fields, this.#reader);
    this.#values = new GroupedValues(this.#reader, fields.length);
  }

  /** Throws `ServiceError` if there are too many groups. */
  see({ items, haveFailed }: PageOfOutcomes): void {
    const { count } = items;
    this.#unseen.see(items);
    for (let item = 0; item < count; item++) {
      this.#reader.read(items.bytes, items.start(item));
      this.#unseen.noteItem();
      const facts = {
        hasFailed: haveFailed ?? parseOutcome(this.#known('publishStatus')),
        createdOn: parseInstant(this.#known('createdOn') ?? ''),
      };
      this.total++;
      if (facts.hasFailed === true) this.failed++;
      if (facts.hasFailed === false) this.delivered++;
      const groups = this.#groupsOfEvent();
      for (const group of groups) addTo(group, facts);
      if (this.numbers) this.#addNumbers(this.numbers, groups);
    }
  }

  /** Warns of fields that no event has, which may be misspelt. */
  doubts(): string[] {
    const ofFields = this.#unseen.doubts().map((doubt) => `--by: ${doubt}`);
    const { numberField, numbers, total } = this;
    if (!numberField || numbers?.count !== 0 || total === 0) return ofFields;
    const doubt = this.#hasNumberField
      ? `no event has a number in ${numberField.text}`
      : this.#unseen.doubtOf(numberField);
    return [...ofFields, `--percentiles: ${doubt}`];
  }

  result(): readonly EventGroup[] {
    const text = ({ values }: EventGroup) => values.join('\n');
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || (text(a) < text(b) ? -1 : 1));
  }

  #groupsOfEvent(): EventGroup[] {
    const keys = this.#values.keysOfEvent(this.#maxGroups);
    if (!keys) throw this.#tooMany();
    return keys.map((key) => this.#groupOf(key));
  }

  #groupOf(key: string): EventGroup {
    const known = this.#groups.get(key);
    if (known) return known;
    if (this.#groups.size === this.#maxGroups) throw this.#tooMany();
    const values = textsOfKey(key).map((text) => (text === 'null' ? null : text));
    const numbers = this.numbers && new NumberSample();
    const group = { ...NO_EVENTS, values, example: this.#example(), numbers };
    this.#groups.set(key, group);
    return group;
  }

  #tooMany(): ServiceError {
    const names = this.fields.map(({ text }) => text).join(',');
    return new ServiceError(`--by ${names}: more than ${this.#maxGroups} groups`, {
      next: 'group by fields with fewer different values, or narrow the search',
    });
  }

  #addNumbers(ofAll: NumberSample, groups: readonly EventGroup[]): void {
    let hasNumber = false;
    this.#reader.each(this.fields.length + KNOWN.length, (bytes, start, end) => {
      if (start === MISSING) return;
      this.#hasNumberField = true;
      const text = valueText(bytes, start, end);
      if (!ofAll.add(text)) return;
      hasNumber = true;
      for (const group of groups) group.numbers?.add(text);
    });
    if (!hasNumber) this.withoutNumber++;
  }

  #known(name: (typeof KNOWN)[number]): string | undefined {
    return this.#reader.text(this.fields.length + KNOWN.indexOf(name));
  }

  #example(): string | undefined {
    let id: string | undefined;
    this.#reader.each(this.fields.length, (bytes, start, end) => {
      if (start !== MISSING) id = valueText(bytes, start, end) || undefined;
    });
    return id;
  }
}

function addTo(group: EventGroup, { hasFailed, createdOn }: Facts): void {
  group.count++;
  if (hasFailed === true) group.failed++;
  if (hasFailed === false) group.delivered++;
  noteTime(group, createdOn);
}

function noteTime(group: EventGroup, createdOn: Instant | undefined): void {
  if (!createdOn) return;
  if (!group.first || compareInstants(createdOn, group.first) < 0) group.first = createdOn;
  if (!group.last || compareInstants(createdOn, group.last) > 0) group.last = createdOn;
}
