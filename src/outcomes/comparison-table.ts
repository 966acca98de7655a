import { ServiceError } from '../errors.ts';
import type { Items } from '../items/items.ts';
import { OUTCOMES } from '../items/outcome-names.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { clockFields } from './clock-fields.ts';
import { NO_VALUE } from './code-column.ts';
import { ColumnReader } from './column-reader.ts';
import type { Field } from './field-column.ts';
import { FieldTree } from './field-tree.ts';
import { enlarged } from './rows.ts';
import { TimeColumn } from './time-column.ts';
import { bareText } from './value-texts.ts';

/** Up to so many rows columns double. */
const FEW_ROWS = 65_536;
/** More rows get room for as many as are expected, within these limits. */
const LEAST_GROWTH = 1.25;
const MOST_GROWTH = 4;
/** Events are not all of one size. */
const MARGIN = 1.03;
/** More events than this would take about half a gigabyte. */
const MOST_ROWS = 6_000_000;

/**
 * Events as columns, for questions about many of them at once: every field, which of them failed, and when
 * they were created. About 80 bytes an event of twenty fields; the values of a field are kept once.
 */
export class ComparisonTable {
  /** Rows that are complete. */
  rows = 0;
  failed = 0;
  /** Events that do not tell their outcome: they have no row. */
  untold = 0;
  readonly times = new TimeColumn();
  /** 1 for a row that failed. */
  failures = new Uint8Array(1024);
  /** Bytes by which the size of a delivered event is greater than `item:size` among the fields. */
  moreOfDelivered = 0;
  readonly #tree: FieldTree;
  readonly #reader: ColumnReader;

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(only?: readonly string[]) {
    this.#tree = new FieldTree(this, only);
    this.#reader = new ColumnReader(this.#tree);
  }

  get fields(): readonly Field[] {
    return this.#tree.fields;
  }

  /**
   * `haveFailed` is for items that do not tell their outcome themselves; `share` is the part of all events
   * that ends with these, if it is known. Throws `ServiceError` for too many events.
   */
  add(items: Items, haveFailed?: boolean, share?: number): void {
    if (this.rows > MOST_ROWS)
      throw new ServiceError(
        `there are more than ${MOST_ROWS / 1e6} million events: too many to compare at once`,
        { next: 'narrow the time with --since and --until, or choose events with --type or --subscription' },
      );
    const { bytes, count } = items;
    const reader = this.#reader;
    const { status } = this.#tree;
    for (let item = 0; item < count; item++) {
      if (this.rows === this.failures.length) this.#grow(share);
      reader.read({ bytes, start: items.start(item), end: items.end(item), row: this.rows });
      const text = status.texts[status.codes[this.rows] as number] as string;
      const hasFailed = haveFailed ?? OUTCOMES.get(bareText(text));
      if (hasFailed === false && text === '"SUCCESS"') this.moreOfDelivered = 1;
      if (hasFailed === undefined) {
        this.#tree.clear(this.rows);
        this.untold++;
        continue;
      }
      this.times.pushValue(reader.time.bytes, reader.time.start, reader.time.end);
      if (hasFailed) {
        this.failures[this.rows] = 1;
        this.failed++;
      }
      this.rows++;
    }
  }

  /** Called once, after the last event. Hours and weekdays are those of the zone's clock. */
  finish(zone: TimeZone = UTC): void {
    this.#tree.finish();
    for (const field of clockFields(this.times, this.rows, zone)) this.#tree.add(field);
  }

  /**
   * The numbers of failed and of other events by the codes of a field; of a list those with any such element.
   */
  countCodes({ codes, texts, cellRows, cells }: Pick<Field, 'codes' | 'texts' | 'cellRows' | 'cells'>): {
    failed: Uint32Array;
    others: Uint32Array;
  } {
    const others = new Uint32Array(texts.length);
    const failed = new Uint32Array(texts.length);
    const count = (row: number, code: number) => {
      const counts = this.failures[row] === 1 ? failed : others;
      counts[code] = (counts[code] as number) + 1;
    };
    if (!cellRows) {
      for (let row = 0; row < this.rows; row++) count(row, codes[row] as number);
      return { failed, others };
    }
    for (let cell = 0; cell < cells; cell++) count(cellRows[cell] as number, codes[cell] as number);
    for (const row of rowsWithoutCells(cellRows, cells, this.rows)) count(row, NO_VALUE);
    return { failed, others };
  }

  fieldAtTop(name: string): Field | undefined {
    return this.fields.find(
      ({ steps, derivation }) => steps.length === 1 && steps[0] === name && !derivation,
    );
  }

  /** Events by the text of a field of the first level; null for those that have no text there. */
  outcomesOf(
    name: string,
  ): { readonly value: string | null; readonly total: number; readonly failed: number }[] {
    const field = this.fieldAtTop(name);
    if (!field) return this.rows > 0 ? [{ value: null, total: this.rows, failed: this.failed }] : [];
    const { failed, others } = this.countCodes(field);
    const none = { value: null, total: this.rows, failed: this.failed };
    const named = field.texts.flatMap((json, code) => {
      const failures = failed[code] as number;
      const total = failures + (others[code] as number);
      if (!json.startsWith('"') || total === 0) return [];
      none.total -= total;
      none.failed -= failures;
      return [{ value: JSON.parse(json) as string, total, failed: failures }];
    });
    return none.total > 0 ? [none, ...named] : named;
  }

  /**
   * Room that is made again and again leaves holes in the process's memory, a tenth of it for a million
   * events.
   */
  #grow(share: number | undefined): void {
    const { rows } = this;
    const expected = share ? (MARGIN * rows) / share : 0;
    const many = Math.min(Math.max(LEAST_GROWTH * rows, expected), MOST_GROWTH * rows);
    const capacity = rows < FEW_ROWS ? 2 * rows : Math.ceil(many);
    this.#tree.grow(capacity);
    this.failures = enlarged(this.failures, capacity);
  }
}

/** The rows that have no cell, of so many. */
function* rowsWithoutCells(cellRows: Int32Array, cells: number, rows: number): Generator<number> {
  let next = 0;
  for (let cell = 0; cell < cells; cell++) {
    const row = cellRows[cell] as number;
    for (; next < row; next++) yield next;
    next = row + 1;
  }
  for (; next < rows; next++) yield next;
}
