import path from 'node:path';
import { duckdbPackage, polarsPackage } from '../support/machine/requirement.ts';

/**
 * A row as an engine reads it: texts, null where the column has none. `createdOn` is in microseconds since
 * the epoch, and `date` is the folder's, if there are folders.
 */
export type EngineRow = Readonly<Record<string, string | null>>;

/** A question that an engine answers with the help of a file's statistics. */
export interface Filter {
  readonly column: 'eventType' | 'subscriptionId' | 'createdOnText' | 'date';
  /** Null: the column has none. */
  readonly value: string | null;
}

export interface Engine extends Disposable {
  /** Reads the files below a directory, those in its folders if it has any. */
  rows(directory: string, hasFolders: boolean): Promise<EngineRow[]>;
  /** Counts the rows that match each filter. */
  counts(directory: string, hasFolders: boolean, filters: readonly Filter[]): Promise<number[]>;
}

const COLUMNS = ['eventId', 'eventType', 'subscriptionId', 'publishStatus', 'createdOnText', 'item'];

const filesOf = (directory: string, hasFolders: boolean) =>
  path.join(directory, ...(hasFolders ? ['*'] : []), '*.parquet');

/** DuckDB in memory. It installs nothing from elsewhere. */
export async function openDuckdb() {
  const { DuckDBInstance } = await import(path.join(duckdbPackage, 'lib/index.js'));
  const instance = await DuckDBInstance.create(':memory:', { autoinstall_known_extensions: 'false' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  /** Runs a statement. Returns its rows, whose numbers beyond 32 bits are texts. */
  const query = async (sql: string, values: readonly unknown[] = []) =>
    (await connection.runAndReadAll(sql, values)).getRowObjectsJson();
  const from = (directory: string, hasFolders: boolean) =>
    `read_parquet('${filesOf(directory, hasFolders)}', hive_partitioning = ${hasFolders}, hive_types_autocast = false)`;
  return {
    query: query as (sql: string) => Promise<Readonly<Record<string, unknown>>[]>,
    rows: async (directory: string, hasFolders: boolean) => {
      // As bytes: what reads texts for JavaScript drops a byte order mark at their start.
      const texts = COLUMNS.map((name) => `hex(encode(${name})) AS ${name}`);
      const chosen = [...texts, 'epoch_us(createdOn) AS createdOn', ...(hasFolders ? ['date'] : [])];
      const rows = await query(`SELECT ${chosen} FROM ${from(directory, hasFolders)}`);
      return rows.map((row: EngineRow) => ({
        ...row,
        ...Object.fromEntries(COLUMNS.map((name) => [name, textOfHex(row[name] ?? null)])),
      }));
    },
    counts: async (directory: string, hasFolders: boolean, filters: readonly Filter[]) => {
      const found: number[] = [];
      for (const { column, value } of filters) {
        const sql = `SELECT count(*) AS count FROM ${from(directory, hasFolders)} WHERE ${column} IS NOT DISTINCT FROM $1`;
        found.push(Number((await query(sql, [value]))[0].count));
      }
      return found;
    },
    [Symbol.dispose]: () => connection.closeSync(),
  };
}

const textOfHex = (hex: string | null) => (hex === null ? null : Buffer.from(hex, 'hex').toString());

/** Polars, which plans a question before it opens the files, as DuckDB does. */
export async function openPolars() {
  const { default: polars } = await import(path.join(polarsPackage, 'bin/index.js'));
  const { col, lit, len } = polars;
  const scan = (directory: string, hasFolders: boolean) =>
    polars.scanParquet(filesOf(directory, hasFolders), {
      hivePartitioning: hasFolders,
      tryParseHiveDates: false,
    });
  return {
    rows: async (directory: string, hasFolders: boolean) => {
      const createdOn = col('createdOn').cast(polars.Int64).cast(polars.String);
      const chosen = [...COLUMNS.map((name) => col(name)), createdOn, ...(hasFolders ? [col('date')] : [])];
      return (
        await scan(directory, hasFolders)
          .select(...chosen)
          .collect()
      ).toRecords();
    },
    counts: async (directory: string, hasFolders: boolean, filters: readonly Filter[]) => {
      const found: number[] = [];
      for (const { column, value } of filters) {
        const holds = value === null ? col(column).isNull() : col(column).eq(lit(value));
        const counted = await scan(directory, hasFolders).filter(holds).select(len()).collect();
        found.push(counted.toRecords()[0].len);
      }
      return found;
    },
    [Symbol.dispose]: () => undefined,
  };
}
