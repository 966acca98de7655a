import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startRecovering } from '../../support/listening.ts';
import { idsOf, type Searching, startSearching, valuesIn } from '../../support/searching.ts';
import { sampleSize } from '../../support/seed.ts';
import { knownOf } from '../../support/shape.ts';

const WINDOW = ['--since', '2026-01-01'];

interface Comparing {
  readonly searching: Searching;
  /** The records of the service, newest first. */
  readonly records: ReturnType<typeof knownOf>[];
  readonly ids: string[];
  write(name: string, content: string | Buffer): Promise<string>;
  run(file: string, ...args: string[]): ReturnType<Searching['run']>;
  json(file: string, ...args: string[]): Promise<Record<string, unknown>>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startComparing(events = 60): Promise<Comparing> {
  const searching = await startSearching({ events });
  const { stdout } = await searching.search('--ndjson');
  const folder = searching.env['HOME'] as string;
  const run = (file: string, ...args: string[]) =>
    searching.run(['webhooks', 'reconcile', '--received', file, ...WINDOW, ...args]);
  return {
    searching,
    records: valuesIn(stdout).map(knownOf),
    ids: idsOf(stdout),
    run,
    write: async (name, content) => {
      const file = path.join(folder, name);
      await writeFile(file, content);
      return file;
    },
    json: async (file, ...args) => JSON.parse((await run(file, '--json', ...args)).stdout),
    [Symbol.asyncDispose]: () => searching[Symbol.asyncDispose](),
  };
}

const OTHER = (number: number) => `3f2504e0-4f89-41d3-9a0c-${String(number).padStart(12, '0')}`;

describe('finds the ids of', () => {
  const csv = (ids: readonly string[], separator: string, end = '\n') =>
    ['id', 'order_id', 'event_id', 'note']
      .map(String)
      .join(separator)
      .concat(end)
      .concat(
        ids
          .map((id, index) => [index, OTHER(index), id, `"a${separator} ""b""\nc"`].join(separator) + end)
          .join(''),
      );
  const forms: readonly (readonly [string, (ids: readonly string[]) => string | Buffer])[] = [
    ['one a line', (ids) => ids.join('\n')],
    ['capitals in braces', (ids) => ids.map((id) => `{${id.toUpperCase()}}\r\n`).join('')],
    ['digits without hyphens', (ids) => ids.map((id) => id.replaceAll('-', '')).join('\n')],
    ['a log', (ids) => ids.map((id) => `08:30:00,12 INFO handled event=${id}; took 12ms\n`).join('')],
    ['CSV', (ids) => csv(ids, ',')],
    ['CSV of Excel', (ids) => `\ufeff${csv(ids, ';', '\r\n')}`],
    ['TSV', (ids) => ids.map((id, index) => `${OTHER(index)}\t"${id}\tx\n`.replace('"', '')).join('')],
    [
      'a table of psql',
      (ids) =>
        ` event_id | order_id \n----------+----------\n${ids.map((id, index) => ` ${id} | ${OTHER(index)} \n`).join('')}(${ids.length} rows)\n`,
    ],
    [
      'NDJSON',
      (ids) =>
        ids.map((id, index) => `{"order": "${OTHER(index)}", "data": {"event_id": "${id}"}}\n`).join(''),
    ],
    [
      'a JSON array of objects',
      (ids) =>
        JSON.stringify(
          ids.map((eventId) => ({ other: OTHER(1), eventId })),
          null,
          2,
        ),
    ],
    ['a JSON array of texts', (ids) => JSON.stringify(ids)],
    ['one JSON object', (ids) => JSON.stringify({ events: ids.map((eventId) => ({ eventId })) })],
    ['gzip', (ids) => gzipSync(csv(ids, ','))],
    ['UTF-16', (ids) => Buffer.from(`\ufeff${ids.join('\r\n')}`, 'utf16le')],
  ];
  test.each(forms)('%s', async (_, write) => {
    await using comparing = await startComparing();
    const had = comparing.ids.slice(0, 40);
    // The column is not named in TSV, and both hold as many GUIDs.
    const field = _ === 'TSV' ? ['--received-field', '2'] : [];
    const file = await comparing.write('had', write(had));
    expect(await comparing.json(file, ...field)).toMatchObject({
      received: 40,
      records: 60,
      both: 40,
      missing: { records: 20 },
      receivedTwice: 0,
      notInWindow: 0,
    });
  });

  const named: readonly (readonly [others: string, ids: string])[] = [
    ['a', 'event'],
    ['order_id', 'webhook_event_id'],
    ['order_id', 'event.id'],
    ['correlation_id', 'id'],
  ];
  test.each(named)('CSV with columns %s and %s', async (other, column) => {
    await using comparing = await startComparing();
    const rows = comparing.ids.map((id, index) => `${OTHER(index)},${id}\n`).join('');
    const file = await comparing.write('had.csv', `${other},${column}\n${rows}`);
    expect(await comparing.json(file)).toMatchObject({ both: 60, notInWindow: 0 });
  });

  test('CSV in which another column holds fewer different ids', async () => {
    await using comparing = await startComparing();
    const rows = comparing.ids.map((id, index) => `${OTHER(index % 6)},${id}\n`).join('');
    const file = await comparing.write('had.csv', `customer,delivery\n${rows}`);
    expect(await comparing.json(file)).toMatchObject({ both: 60, notInWindow: 0 });
  });

  test('CSV whose only column is named', async () => {
    await using comparing = await startComparing();
    const file = await comparing.write('had.csv', `"Event_ID"\n${comparing.ids.join('\n')}\n`);
    expect(await comparing.json(file, '--received-field', 'event_id')).toMatchObject({ both: 60 });
  });

  test('Parquet', async () => {
    await using comparing = await startComparing();
    const folder = path.join(comparing.searching.env['HOME'] as string, 'export');
    const { code } = await comparing.searching.run([
      'events',
      'export',
      folder,
      '--format',
      'parquet',
      '--failed',
    ]);
    expect(code).toBe(0);
    const failed = comparing.records.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
    expect(await comparing.json(path.join(folder, 'part-000001.parquet'))).toMatchObject({
      both: failed,
      failedButReceived: failed,
      missing: { records: 60 - failed, failed: 0 },
    });
  });

  test('standard input', async () => {
    await using comparing = await startComparing();
    const { stdout } = await comparing.searching.run(
      ['webhooks', 'reconcile', '--received', '-', ...WINDOW, '--json'],
      { stdin: comparing.ids.slice(0, 1).join('\n') },
    );
    expect(JSON.parse(stdout)).toMatchObject({ both: 1, missing: { records: 59 } });
  });
});

test('any ids are compared as a plain comparison does', async () => {
  await using comparing = await startComparing(200);
  const { records } = comparing;
  const some = fc.record({
    had: fc.array(fc.nat(records.length - 1), { minLength: 1, maxLength: 300 }),
    others: fc.array(fc.nat(50), { maxLength: 20 }),
  });
  await fc.assert(
    fc.asyncProperty(some, async ({ had, others }) => {
      const ids = [...had.map((index) => records[index]?.eventId as string), ...others.map(OTHER)];
      const set = new Set(ids);
      const missing = records.filter(({ eventId }) => !set.has(eventId));
      const file = await comparing.write('drawn.txt', `${ids.join('\n')}\n`);
      const found = await comparing.json(file);
      const { groups } = found['missing'] as { groups: { count: number; status: string; by: object }[] };
      const inWindow = new Set(records.map(({ eventId }) => eventId));
      expect(found).toMatchObject({
        after: '2026-01-01T00:00:00Z',
        received: set.size,
        records: records.length,
        both: records.length - missing.length,
        missing: {
          records: missing.length,
          failed: missing.filter(({ publishStatus }) => publishStatus === 'FAILED').length,
          succeeded: missing.filter(({ publishStatus }) => publishStatus === 'SUCCESS').length,
        },
        failedButReceived: records.filter(
          ({ eventId, publishStatus }) => set.has(eventId) && publishStatus === 'FAILED',
        ).length,
        receivedTwice: [...set].filter((id) => ids.filter((other) => other === id).length > 1).length,
        notInWindow: [...set].filter((id) => !inWindow.has(id)).length,
      });
      expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(missing.length);
      const { stdout } = await comparing.run(file, '--ndjson');
      expect(idsOf(stdout).sort()).toEqual(missing.map(({ eventId }) => eventId).sort());
    }),
    { numRuns: sampleSize(4, 10) },
  );
});

test('says what is missing, and the line that recovers it', async () => {
  await using comparing = await startComparing();
  const { records, ids } = comparing;
  const file = await comparing.write('had.txt', [...ids.slice(0, 40), ids[0]].join('\n'));
  const missing = records.slice(40);
  const failed = missing.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
  const { code, stdout, stderr } = await comparing.run(file, '--until', '2026-11-21');
  expect(code).toBe(0);
  const parts = [
    ...(failed > 0 ? [`${failed} FAILED`] : []),
    `${20 - failed} delivered to your endpoint and lost afterwards`,
  ];
  expect(stdout).toMatch(
    `20 of 60 records are missing: ${parts.join(', ')}, from 2026-01-01 00:00Z to 2026-11-21 00:00Z\n`,
  );
  expect(stdout).toContain(`${file} has 1 id more than once: handled twice?\n`);
  expect(stderr).toBe(
    `next: \`hooktrail webhooks recover --received ${file} --since 2026-01-01 --until 2026-11-21 --forward-to URL\`: recovers exactly these\n`,
  );
  expect((await comparing.run(file, '--exit-code')).code).toBe(10);
  expect((await comparing.run(file, '--ndjson')).stderr).toMatch(/^20 of 60 records are missing: .*\nnext: /);
  const all = await comparing.write('all.txt', ids.join('\n'));
  expect(await comparing.run(all, '--exit-code')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`nothing is missing: ${all} has all 60 records`),
    stderr: '',
  });
});

test('a day is shown from midnight to midnight', async () => {
  await using comparing = await startComparing();
  const file = await comparing.write('had.txt', comparing.ids.join('\n'));
  const day = ['--received', file, '--day', '2026-11-19', '--timezone', 'Europe/Berlin'];
  const { stdout } = await comparing.searching.run(['webhooks', 'reconcile', ...day]);
  expect(stdout).toContain('from 2026-11-19 00:00+01:00 to 2026-11-20 00:00+01:00\n');
});

test('a column of other GUIDs is named, with those that may be meant', async () => {
  await using comparing = await startComparing();
  const rows = comparing.ids.map((id, index) => `${OTHER(index)},${id}\n`).join('');
  const file = await comparing.write('orders.csv', `order_id,delivered\n${rows}`);
  const { stderr } = await comparing.run(file, '--received-field', 'order_id');
  expect(stderr).toBe(
    `warning: --received: the window has none of the ids in ${file}; they were taken from 'order_id'\n` +
      `next: --received-field 'delivered' takes another column that holds GUIDs\n`,
  );
  expect((await comparing.run(file, '--received-field', 'delivered')).stdout).toContain('nothing is missing');
});

describe('refuses with exit code 2', () => {
  const cases: readonly (readonly [string, string | Buffer, string[], string])[] = [
    ['a file without an id', 'order 77\n', [], 'holds no event id'],
    ['an empty file', '', [], 'holds no event id'],
    ['a text that ends in an id', `${OTHER(1)}\n3f2504e0-4f89-41d3-9a`, [], 'ends in the middle of an id'],
    [
      'CSV that ends in a row',
      `event_id,note\n${OTHER(1)},x\n${OTHER(2)}`,
      [],
      'ends in the middle of a row',
    ],
    [
      'CSV that ends in a cell',
      `event_id,note\n${OTHER(1)},x\n${OTHER(2)},"a`,
      [],
      'ends in the middle of a row',
    ],
    ['a JSON array that is cut off', `["${OTHER(1)}",\n "3f25`, [], 'ends in the middle of a list'],
    [
      'a path without ids',
      `{"order":"${OTHER(1)}","n":1}\n`,
      ['--received-field', 'event'],
      "--received-field: 'event' holds no id in",
    ],
    ['NDJSON that is cut off', `{"eventId":"${OTHER(1)}"}\n{"eventId":"3f`, [], 'line 2: it is cut off'],
    [
      'a column that is not there',
      `event_id,note\n${OTHER(1)},x\n`,
      ['--received-field', 'event_di'],
      "--received-field: there is no column 'event_di'",
    ],
  ];
  test.each(cases)('%s', async (_, content, args, message) => {
    await using comparing = await startComparing(10);
    const file = await comparing.write('bad', content);
    const { code, stdout, stderr } = await comparing.run(file, ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  test('a file that is not there, and no window', async () => {
    await using comparing = await startComparing(10);
    expect(await comparing.run('nowhere.csv')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--received: there is no file 'nowhere.csv'"),
    });
    const { code, stderr } = await comparing.searching.run(['webhooks', 'reconcile', '--received', 'x']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('error: --since is missing')]);
  });
});

test('a window without records is nothing to compare with', async () => {
  await using comparing = await startComparing();
  const file = await comparing.write('had.txt', comparing.ids.join('\n'));
  const { code, stdout } = await comparing.run(file, '--until', '2026-01-02', '--exit-code');
  expect([code, stdout]).toEqual([0, expect.stringContaining('no records to compare with')]);
});

test('recover --received hands over exactly what is missing, oldest first, and journals it where asked', async () => {
  await using recovering = await startRecovering();
  const { searching, handler, journal } = recovering;
  const { stdout } = await searching.search('--ndjson');
  const ids = idsOf(stdout);
  const file = path.join(path.dirname(journal), 'had.csv');
  await writeFile(file, ['event_id', ...ids.slice(0, 45)].join('\n'));
  const recover = (...args: string[]) =>
    searching.run(
      ['webhooks', 'recover', ...WINDOW, '--received', file, '--forward-to', handler.url, ...args],
      { env: { ...searching.env, HOOKTRAIL_API_TOKEN: 'token' } },
    );
  const listed = await recover('--dry-run', '--ndjson');
  expect(idsOf(listed.stdout)).toEqual(ids.slice(45).reverse());
  expect(listed.stderr).toMatch(/^15 to forward; 45 received already\n/);
  expect(handler.received).toHaveLength(0);
  const first = await recover('--journal', journal, '--new-journal');
  expect(first).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^15 forwarded; 45 received or journaled already; 0 left\n/),
  });
  const handed = handler.received.map(({ body }) => JSON.parse(body.toString()).eventId);
  expect(handed).toEqual(ids.slice(45).reverse());
  expect(await recover('--journal', journal)).toMatchObject({
    stderr: expect.stringMatching(/^0 forwarded; 60 received or journaled already; 0 left\n/),
  });
  expect(
    (await readFile(journal, 'utf8')).split('\n').filter((line) => /^[0-9a-f]{32} /.test(line)),
  ).toHaveLength(15);
});
