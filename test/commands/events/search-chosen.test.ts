import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { hooktrail } from '../../support/program.ts';
import { idsOf, startSearching } from '../../support/searching.ts';

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(clock.now() - hours * HOUR).toISOString();

describe('--type', () => {
  test('ignores case, and takes * for all types on offer that match', async () => {
    await using at = await startSearching({ events: 400 });
    const all = (await at.search('--ndjson')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const ofType = (wanted: RegExp) =>
      all.filter(({ eventType }) => wanted.test(eventType)).map(({ eventId }) => eventId);
    const signed = ofType(/^document\.signed$/);
    expect(signed.length).toBeGreaterThan(5);
    expect(idsOf((await at.search('--ndjson', '--type', 'Document.SIGNED')).stdout)).toEqual(signed);
    const several = idsOf((await at.search('--ndjson', '--type', 'DOCUMENT.*,envelope.sent')).stdout);
    expect(several.sort()).toEqual(ofType(/^document\.|^envelope\.sent$/).sort());
    const counted = await hooktrail(['events', 'count', '--type', 'document.*'], { env: at.env });
    expect(counted).toEqual({ code: 0, stdout: `${ofType(/^document\./).length}\n`, stderr: '' });
    // A pattern stands for what is on offer now; a name that was listed before is known.
    expect(idsOf((await at.search('--ndjson', '--type', 'document.SIGNED')).stdout)).toHaveLength(
      signed.length,
    );
    expect(at.sandbox.log.filter(({ url }) => url.endsWith('/event-types'))).toHaveLength(3);
    const dry = await at.search('--dry-run', '--type', 'document.s*');
    expect(dry.stdout.match(/eq\(eventType,[^)]*\)/g)).toEqual(['eq(eventType,document.signed)']);
    const file = path.join(at.env['HOME'] as string, 'all.ndjson');
    await writeFile(file, (await at.search('--ndjson')).stdout);
    expect(idsOf((await at.search('--ndjson', '--from', file, '--type', 'DOCUMENT.*')).stdout)).toEqual(
      ofType(/^document\./),
    );
    expect(await readFile(file, 'utf8')).toContain('document.signed');
  });

  test('a pattern that nothing on offer matches is a usage error', async () => {
    await using at = await startSearching({ events: 10 });
    expect(await at.search('--type', 'documents.*')).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: --type: no event type on offer matches 'documents.*'\nnext: did you mean document.*?\n",
    });
  });

  test('an event type that is no longer on offer is searched for as it is typed', async () => {
    await using at = await startSearching({ events: 10 });
    const { eventId } = at.sandbox.control.addEvent({ eventType: 'Old.Type' });
    expect(idsOf((await at.search('--ndjson', '--type', 'Old.Type')).stdout)).toEqual([eventId]);
  });
});

describe('a start in the future', () => {
  test.each([
    [['search', '--since', '2027-01-01'], '--since: 2027-01-01'],
    [['search', '--since', '2027-01-01', '--dry-run'], '--since: 2027-01-01'],
    [['search', '--since', '2027-01-01', '--from', '-'], '--since: 2027-01-01'],
    [['count', '--since', '23:00'], '--since: 2026-11-20T23:00:00Z'],
    [['count', '--after', '23:00', '--where', 'eventId', '--quiet'], '--after: 2026-11-20T23:00:00Z'],
    [['get', '0f8fad5b-d9cb-469f-a165-70867728950e', '--since', '23:00'], '--since: 2026-11-20T23:00:00Z'],
    [['stats', '--since', '23:00'], '--since: 2026-11-20T23:00:00Z'],
    [['report', 'r.html', '--since', '23:00'], '--since: 2026-11-20T23:00:00Z'],
    [['export', 'out', '--since', '2027-01-01'], '--since: 2027-01-01'],
    [['watch', '--since', '23:00'], '--since: 2026-11-20T23:00:00Z'],
  ])('of %j is a usage error', async (args, start) => {
    await using at = await startSearching({ events: 10 });
    const { code, stdout, stderr } = await hooktrail(['events', ...args], { env: at.env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n')[0]).toMatch(
      new RegExp(
        `^error: ${start} is in the future: (the service's|this machine's) time is 2026-11-20T12:00:0\\dZ$`,
      ),
    );
    expect(stderr.split('\n')[1]).toBe(
      start.endsWith('23:00:00Z')
        ? `next: for the day before, write ${start.split(':')[0]} 'yesterday 23:00'`
        : 'next: give a time in the past, such as --since 2h',
    );
  });

  test('by the service’s clock, not by a wrong one of this machine', async () => {
    await using at = await startSearching({ events: 10 });
    const since = new Date(clock.now() - HOUR).toISOString();
    const slow = {
      now: () => clock.now() - 48 * HOUR,
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    };
    const { code, stderr } = await hooktrail(['events', 'count', '--since', since], {
      env: at.env,
      context: { clock: slow },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('--reverse', () => {
  test.each(['newest-first', 'oldest-first'] as const)(
    'prints the oldest first, with a service that lists %s',
    async (order) => {
      await using at = await startSearching({ events: 120 });
      at.sandbox.control.behaviour.order = order;
      const oldest = at.sandbox.control.store.newestIds(120).reverse();
      const ids = async (...args: string[]) =>
        idsOf((await at.search('--ndjson', '--reverse', ...args)).stdout);
      expect(await ids('--page-size', '50')).toEqual(oldest);
      expect(await ids('--limit', '7')).toEqual(oldest.slice(0, 7));
      expect(await ids('--limit', '1')).toEqual(oldest.slice(0, 1));
      expect(await ids('--limit', '500')).toEqual(oldest);
      const failed = idsOf((await at.search('--ndjson', '--failed')).stdout);
      if (order === 'newest-first') failed.reverse();
      expect(await ids('--where', 'publishStatus = FAILED', '--limit', '3')).toEqual(failed.slice(0, 3));
      expect(await ids('--status', 'FAILED,SUCCESS', '--limit', '30')).toEqual(oldest.slice(0, 30));
      const file = path.join(at.env['HOME'] as string, `${order}.ndjson`);
      await writeFile(file, (await at.search('--ndjson')).stdout);
      expect(await ids('--from', file, '-n', '5')).toEqual(oldest.slice(0, 5));
    },
  );

  test('asks for the oldest events at once, not for all before them', async () => {
    await using at = await startSearching({ events: 5000 });
    const { stdout } = await at.search('--ndjson', '--reverse', '-n', '10');
    expect(idsOf(stdout)).toEqual(at.sandbox.control.store.newestIds(5000).reverse().slice(0, 10));
    expect(at.queries()).toEqual(['limit(1,10)', 'limit(1,1)', 'limit(4991,10)']);
  });

  test('reads everything where the service gives no counts', async () => {
    await using at = await startSearching({ events: 90 });
    at.sandbox.control.behaviour.omit = ['count'];
    const { stdout } = await at.search('--ndjson', '--reverse', '-n', '10', '--page-size', '20');
    expect(idsOf(stdout)).toEqual(at.sandbox.control.store.newestIds(90).reverse().slice(0, 10));
  });

  test('on a terminal shows the oldest rows', async () => {
    await using at = await startSearching({ events: 0 });
    for (const hours of [3, 2, 1])
      at.sandbox.control.addEvent({ createdOn: ago(hours), eventType: `h${hours}` });
    const { stdout } = await hooktrail(['events', 'search', '--reverse', '--fields', 'eventType'], {
      env: at.env,
    });
    expect(stdout).toBe('eventType\nh3\nh2\nh1\n');
  });
});
