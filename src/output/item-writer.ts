import type { Context } from '../context.ts';
import type { FieldPath } from '../json/item-fields.ts';
import type { Items, ListKind } from '../json/items.ts';
import type { TimeZone } from '../time/time-zone.ts';

export type FormatName = 'table' | 'json' | 'ndjson' | 'csv';

export interface FormatOptions {
  /** `pretty` is one event on a terminal as indented JSON. */
  readonly format: FormatName | 'pretty';
  /** Only these fields, in this order. */
  readonly fields?: readonly FieldPath[];
  /** False: without the line of titles, in a table and in CSV. */
  readonly hasHeader?: boolean;
  /** A jq program that runs over the JSON output. */
  readonly jq?: string;
  /** Leaves text in CSV cells as it is, even where a spreadsheet would run it. */
  readonly csvRaw?: boolean;
  /** Begins CSV with a byte order mark. */
  readonly csvBom?: boolean;
  /** Items like those to come. A table makes its columns wide enough for these too, if its first page is small. */
  readonly sample?: Items;
  /** Fields that have the same value in every item because of the filters. */
  readonly constant?: ReadonlySet<string>;
  /** The zone in which a table shows times; the other formats keep the service's text. */
  readonly zone?: TimeZone;
  readonly list: ListKind;
}

export type ItemContext = Pick<Context, 'stdout' | 'environment'>;
