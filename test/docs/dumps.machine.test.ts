import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { available, postgresFolder } from '../support/machine/requirement.ts';
import { blocksOf, readPages } from './pages.ts';

const page = (await readPages()).find(({ file }) => file === 'docs/reconciling.md')!;
const lineWith = (program: string) =>
  blocksOf(page, 'sh').find((text) => text.startsWith(`${program} `)) ?? `exit 99 # no ${program}`;
const execute = promisify(execFile);
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

test('the line of the log prints the ids of all its files', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'log-'));
  const lines = `08:30:00 event handled ${ID}\n08:30:01 event refused ${ID.replace('0', '1')}\n`;
  await writeFile(path.join(folder, 'app.log'), lines);
  await execute('sh', ['-c', `cp app.log app.log.1; gzip app.log.1; ${lineWith('zcat')}`], { cwd: folder });
  const dump = await readFile(path.join(folder, 'handled.txt'), 'utf8');
  expect(dump).toBe(`08:30:00 event handled ${ID}\n`.repeat(2));
  await rm(folder, { recursive: true });
});

test.skipIf(!available('PostgreSQL') || !available('root'))(
  'the line of psql writes the ids of a table as CSV',
  { timeout: 120_000 },
  async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'postgres-'));
    await chmod(folder, 0o777);
    // PostgreSQL's server refuses to run as root.
    const asNobody = (program: string, ...args: string[]) =>
      execute(
        'setpriv',
        [
          '--reuid',
          '65534',
          '--clear-groups',
          path.join(postgresFolder!, program),
          '-D',
          `${folder}/data`,
          ...args,
        ],
        { cwd: folder },
      );
    await asNobody('initdb', '--username', 'root', '--auth', 'trust');
    const options = `-c listen_addresses= -c unix_socket_directories=${folder}`;
    await asNobody('pg_ctl', 'start', '--wait', '--log', `${folder}/log`, '-o', options);
    try {
      const env = { ...process.env, PGHOST: folder, PGDATABASE: 'postgres', PGUSER: 'root' };
      const rows = `('${ID}', now()), (gen_random_uuid(), now() - interval '4 days')`;
      const table = 'create table handled (event_id uuid, handled_at timestamptz)';
      await execute('psql', ['-c', table, '-c', `insert into handled values ${rows}`], { env });
      await execute('sh', ['-ec', lineWith('psql')], { env, cwd: folder });
      const dump = await readFile(path.join(folder, 'handled.csv'), 'utf8');
      expect(dump).toMatch(new RegExp(`^event_id,handled_at\n${ID},.*\n$`));
    } finally {
      await asNobody('pg_ctl', 'stop', '--mode', 'immediate');
      await rm(folder, { recursive: true });
    }
  },
);
