import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf } from '../support/searching.ts';

test('--grep says on a terminal in which field each event has the text first', async () => {
  await using home = await createHome();
  const file = path.join(home.folder, 'events.ndjson');
  const event = (eventId: string, more: object) => ({ eventId, createdOn: '2026-11-20T08:00:00Z', ...more });
  const events = [
    event('a', { order: { number: 'PO-4711' }, note: '4711 again' }),
    event('b', { order: { number: 'po-4711' } }),
    event('c', { note: 'about 47110' }),
    event('d', { '4711': true }),
    event('e', { order: { number: 'PO-1' } }),
  ];
  await writeFile(file, ndjsonOf(events));
  const args = ['events', 'search', '--from', file, '--grep', '4711'];
  expect((await hooktrail(args, { env: home.env, terminal: 200 })).stderr).toContain(
    '--grep: found first in order.number (2 events), note (1), the name of a member (1)\n',
  );
  expect((await hooktrail(args, { env: home.env })).stderr).toBe('');
  const none = await hooktrail([...args.slice(0, -1), 'zzz'], { env: home.env, terminal: 200 });
  expect(none.stderr).not.toContain('found first');
});
