import type { FieldPath } from '../items/field-path.ts';
import type { Items, ListKind } from '../items/items.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { CsvColumns } from './csv-columns.ts';
import type { FormatName } from './format-registry.ts';
import type { TableNote } from './table-note.ts';

export interface FormatOptions {
  readonly format: FormatName | 'pretty';
  readonly fields?: readonly FieldPath[] | undefined;
  /** True for the saved columns of tables, which may not fit these items. */
  readonly areFieldsSaved?: boolean;
  readonly hasHeader?: boolean | undefined;
  readonly jq?: string | undefined;
  /** Does not guard cells that a spreadsheet would run. */
  readonly csvRaw?: boolean | undefined;
  readonly csvBom?: boolean | undefined;
  readonly csvDelimiter?: string | undefined;
  /** More items to measure column widths with, if the first page is small. */
  readonly sample?: Items | undefined;
  /** True for an endless stream, so notices come first. */
  readonly isLive?: boolean;
  /** True if items were requested by id, which a table then always shows. */
  readonly isById?: boolean;
  readonly constant?: ReadonlySet<string>;
  readonly zone?: TimeZone;
  readonly csvColumns?: CsvColumns | undefined;
  /** Set if the command line names a zone; otherwise CSV keeps the service's text. */
  readonly csvZone?: TimeZone | undefined;
  readonly list: ListKind;
  readonly names?: SubscriptionLabels | undefined;
  readonly nameField?: FieldPath | undefined;
  /** Called with a field that has no column because the first page lacks it. */
  readonly onLate?: ((name: string) => void) | undefined;
  /** In full in Markdown, by the first fact on a terminal. Called with the number of items printed. */
  readonly note?: (count: number) => TableNote | Promise<TableNote>;
  readonly hasBlocks?: boolean;
}

export interface SubscriptionLabels {
  /** Resolves once these ids are known or cannot be. Never rejects. */
  learn(ids: Iterable<string>): Promise<void>;
  labelOf(id: string): string | undefined;
}

/** Each call resolves once standard output has taken the text. */
export interface ItemWriter {
  /** `isLast`: all items are known, so shared values may be shown once. */
  write(items: Items, isLast?: boolean): Promise<void>;
  /** Called after the last page to finish the output. */
  end?(): Promise<void>;
  /** Called instead of `end` after a failed read; leaves well-formed output and never rejects. */
  abort?(): Promise<void>;
}
