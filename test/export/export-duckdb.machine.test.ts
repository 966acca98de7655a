import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { blocksOf, readPages } from '../docs/pages.ts';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { hasDuckdb } from '../support/machine/requirement.ts';
import { valuesIn } from '../support/searching.ts';
import { itemOf, knownOf, pathOf, useShape, valueAt } from '../support/shape.ts';
import { openDuckdb } from './engines.ts';

const page = (await readPages()).find(({ file }) => file === 'docs/exporting.md')!;
const statements = blocksOf(page, 'sql');
const statementWith = (words: string) => statements.find((sql) => sql.includes(words)) ?? 'none';

/** The page's lines for an export in a directory, and for the shape of its items. */
function fitted(sql: string, directory: string): string {
  return sql
    .replace("'lake/", `'${directory}/`)
    .replace("'failed.ndjson'", `'${path.dirname(directory)}/failed.ndjson'`)
    .replace('$.eventData.body.actor', `$.${pathOf('actor')}`)
    .replace('$.eventData.body.sequence', `$.${pathOf('sequence')}`);
}

async function exported(at: Exporting, ...flags: string[]) {
  const { code, stderr } = await at.export('--format', 'parquet', '--page-size', '50', ...flags);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported: /)]);
  const text = (await at.search('--ndjson', '--from', at.directory)).stdout;
  return { text, items: valuesIn<object>(text) };
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}

describe.skipIf(!hasDuckdb).each(['published', 'flat'] as const)('DuckDB, items of the %s shape', (shape) => {
  const start = async () => {
    useShape(shape);
    return await startExporting({ events: 900, shape, tokenLifetimeSeconds: 864_000 });
  };

  test('finds the counts, the ids and the exact texts in an export without folders', async () => {
    await using at = await start();
    const { text, items } = await exported(at);
    using duckdb = await openDuckdb();
    const files = `'${at.directory}/*.parquet'`;
    const rows = await duckdb.query(`SELECT * FROM ${files}`);
    expect(rows.map(({ item }) => `${item}\n`).sort()).toEqual((text.match(/.+\n/g) ?? []).sort());
    for (const { item, createdOn, createdOnText, ...row } of rows) {
      const { createdOn: time, ...known } = knownOf(JSON.parse(item as string));
      expect([row, createdOnText]).toEqual([known, time]);
      // To the microsecond.
      const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
      const micros = fraction.slice(0, 6).replace(/0+$/, '');
      expect(createdOn).toBe(`${whole.replace('T', ' ')}${micros && `.${micros}`}+00`);
    }
    expect(rows).toHaveLength(items.length);
    const columns = await duckdb.query(`DESCRIBE SELECT * FROM ${files}`);
    expect(columns.map((column) => [column['column_name'], column['column_type']])).toEqual([
      ...['eventId', 'eventType', 'subscriptionId', 'publishStatus'].map((name) => [name, 'VARCHAR']),
      ['createdOn', 'TIMESTAMP WITH TIME ZONE'],
      ...['createdOnText', 'item'].map((name) => [name, 'VARCHAR']),
    ]);
    const codecs = await duckdb.query(`SELECT DISTINCT compression FROM parquet_metadata(${files})`);
    expect(codecs).toEqual([{ compression: 'SNAPPY' }]);
  });

  test('runs the lines of exporting.md over folders by day, and finds what is there', async () => {
    await using at = await start();
    for (const [index, createdOn] of [undefined, 'yesterday'].entries()) {
      const eventId = `00000000-0000-4000-8000-00000000000${index}`;
      const fields = { eventId, createdOn, eventType: 'a.b', publishStatus: 'FAILED', subscriptionId: 's' };
      const json = JSON.stringify(itemOf(fields));
      at.control.addEvent({ eventId, json, publishStatus: 'FAILED', createdOn: '2026-11-18T00:00:00Z' });
    }
    const { text, items } = await exported(at, '--partition', 'day');
    using duckdb = await openDuckdb();
    const run = (words: string) => duckdb.query(fitted(statementWith(words), at.directory));
    await run('CREATE VIEW');
    const known = items.map(knownOf);
    const isFailed = ({ publishStatus }: { publishStatus: string }) => publishStatus === 'FAILED';

    const days = await duckdb.query('SELECT date, count(*) AS events FROM events GROUP BY ALL');
    const dayOf = ({ createdOn }: { createdOn: string }) =>
      /^\d{4}-/.test(createdOn) ? createdOn.slice(0, 10) : 'null';
    expect(Object.fromEntries(days.map(({ date, events }) => [String(date), Number(events)]))).toEqual(
      countBy(known, dayOf),
    );
    const types = await run("publishStatus = 'FAILED') AS failed");
    expect(types).toHaveLength(10);
    const recent = known.filter((event) => dayOf(event) >= '2026-11-14' && dayOf(event) !== 'null');
    for (const { date, eventType, failed, events } of types) {
      const such = recent.filter((event) => dayOf(event) === date && event.eventType === eventType);
      expect([Number(failed), Number(events)]).toEqual([such.filter(isFailed).length, such.length]);
    }
    const failing = await run('min(createdOn)');
    expect(Object.fromEntries(failing.map(({ subscriptionId: id, failed }) => [id, Number(failed)]))).toEqual(
      countBy(known.filter(isFailed), ({ subscriptionId }) => subscriptionId),
    );
    const actors = countBy(
      items.filter((item) => knownOf(item).eventType !== 'a.b'),
      (item) => valueAt(item, 'actor'),
    );
    for (const { actor, events } of await run('AS actor'))
      if (actor !== null) expect(Number(events)).toBe(actors[actor as string]);

    const numbers = await run('AS sequence');
    expect(numbers).toHaveLength(10);
    for (const { eventId, sequence, amount } of numbers) {
      const line = text.split('\n').find((one) => one.includes(eventId as string)) ?? '';
      expect([sequence, amount]).toEqual([
        /"sequence":(\d+)/.exec(line)?.[1],
        /"value":([-.\d]+)/.exec(line)?.[1],
      ]);
      expect(Number(sequence)).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    }

    await run('COPY');
    const copied = path.join(path.dirname(at.directory), 'failed.ndjson');
    const lines = text.split('\n').filter((line) => line && isFailed(knownOf(JSON.parse(line))));
    expect((await readFile(copied, 'utf8')).trimEnd().split('\n').sort()).toEqual(lines.sort());
    expect((await at.run(['events', 'count', '--from', copied])).stdout).toBe(`${lines.length}\n`);
  });

  test('reads an updated export, and one without events', async () => {
    await using at = await start();
    await exported(at, '--partition', 'day');
    clock.advance(3_600_000);
    const added = at.control.addEvent();
    clock.advance(5_000);
    expect(
      (await at.export('--format', 'parquet', '--page-size', '50', '--partition', 'day', '--update')).code,
    ).toBe(0);
    using duckdb = await openDuckdb();
    const files = `read_parquet('${at.directory}/*/*.parquet', hive_partitioning = true)`;
    const ids = await duckdb.query(`SELECT eventId, count(*) AS times FROM ${files} GROUP BY ALL`);
    expect(ids).toHaveLength(901);
    expect(ids).toContainEqual({ eventId: added.eventId, times: '1' });
    await using none = await startExporting({ events: 0, shape });
    await exported(none);
    expect(await duckdb.query(`SELECT count(*) AS events FROM '${none.directory}/*.parquet'`)).toEqual([
      { events: '0' },
    ]);
  });
});
