import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { startSearching } from '../support/searching.ts';
import { inShape } from '../support/shape.ts';

const BERLIN = ['--timezone', 'Europe/Berlin'];

/** Five events around midnight of Berlin on the night when its clocks are put back. */
async function startAtNight() {
  clock.set('2027-10-31T12:00:00Z');
  const at = await startSearching({ events: 0 });
  for (const time of [
    '30T21:59:59.9999999',
    '30T22:00:00',
    '31T00:30:00',
    '31T01:30:00.1234567',
    '31T11:00:00',
  ])
    at.sandbox.control.addEvent({
      createdOn: `2027-10-${time}Z`,
      publishStatus: time.startsWith('31') ? 'FAILED' : 'SUCCESS',
      eventType: 'document.signed',
    });
  return at;
}
const times = (text: string) => text.match(/^ *(?:2027-)?10-\S+[ T]\S+/gm);

const at = forEachTest(startAtNight);

/** The published service leaves zeros at the end of a fraction out. */
const zeros = inShape({ flat: '.0000000', published: '' });

describe('--timezone', () => {
  test('a table shows times in it with every digit, in a pipe and on a terminal', async () => {
    const piped = await at.search(...BERLIN, '--fields', 'createdOn');
    expect(piped).toEqual({
      code: 0,
      stderr: '',
      stdout: `createdOn
2027-10-31T12:00:00${zeros}+01:00
2027-10-31T02:30:00.1234567+01:00
2027-10-31T02:30:00${zeros}+02:00
2027-10-31T00:00:00${zeros}+02:00
2027-10-30T23:59:59.9999999+02:00
`,
    });
    const args = ['events', 'search', '--no-pager', ...BERLIN];
    const wide = await at.start(args, { terminal: 240 }).finished;
    expect(times(wide.stdout)?.[1]).toBe('2027-10-31 02:30:00.1234567+01:00');
    const narrow = await at.start(args, { terminal: 40 }).finished;
    expect(times(narrow.stdout)?.[1]).toBe('2027-10-31 02:30:00+01:00');
  });

  test('times as printed in a table find the event again', async () => {
    const found = await at.search(
      ...['--fields', 'createdOn', '--csv', ...BERLIN],
      ...['--since', '10-31 02:30:00+02:00', '--until', '2027-10-31 02:30:00.1234568+01:00'],
    );
    expect(found.stdout).toBe('createdOn\r\n2027-10-31T02:30:00.1234567+01:00\r\n');
  });

  test.each(['--json', '--ndjson'])('%s keeps the text of the service', async (format) => {
    const { stdout } = await at.search(format, ...BERLIN);
    expect(stdout).toBe((await at.search(format)).stdout);
  });

  test('CSV has its times, and those of the service where only the environment names a zone', async () => {
    const rows = (stdout: string) => stdout.split('\r\n').slice(1, -1);
    const search = ['events', 'search', '--csv', '--fields', 'createdOn'];
    expect(rows((await at.run([...search, ...BERLIN])).stdout).slice(0, 2)).toEqual([
      `2027-10-31T12:00:00${zeros}+01:00`,
      '2027-10-31T02:30:00.1234567+01:00',
    ]);
    const env = { HOOKTRAIL_TIMEZONE: 'Europe/Berlin' };
    const saved = await at.run(search, { env: { ...at.env, ...env } });
    expect(saved.stdout).toBe((await at.run(search)).stdout);
    const notice =
      'times in CSV are as the service wrote them, in UTC; --timezone Europe/Berlin converts them\n';
    expect(saved.stderr).toBe(notice);
    const byType = ['events', 'stats', '--since', '2d', '--by', 'eventType', '--csv'];
    expect((await at.run(byType, { env: { ...at.env, ...env } })).stderr).toBe(notice);
    const health = await at.run(['events', 'health', '--since', '2d', '--csv', ...BERLIN]);
    expect(health.stdout).toContain('2027-10-31T12:00:00');
    expect(health.stdout).toContain('+01:00');
    expect(health.stdout).not.toMatch(/\dZ/);
    const found = await at.run(['events', 'find', 'document.signed', '--csv', ...BERLIN]);
    expect(rows(found.stdout).map((row) => row.split(',')[1]?.slice(-6))).toEqual([
      ...['+01:00', '+01:00', '+02:00', '+02:00', '+02:00'],
    ]);
    const groups = await at.run([
      'events',
      'stats',
      '--since',
      '2d',
      '--by',
      'eventType',
      '--csv',
      ...BERLIN,
    ]);
    expect(groups.stdout).toMatch(/,2027-10-30T23:59:59\S*\+02:00,2027-10-31T12:00:00\S*\+01:00,/);
  });

  test('today is the day of the zone', async () => {
    const count = (...args: string[]) => at.run(['events', 'count', ...args]);
    expect((await count('--since', 'today')).stdout).toBe('3\n');
    // The event at midnight itself is excluded, since bounds are exclusive.
    expect((await count('--since', 'today', ...BERLIN)).stdout).toBe('3\n');
    expect((await count('--since', 'today', '--timezone', 'America/New_York')).stdout).toBe('1\n');
    expect((await count('--since', '2027-10-30', '--until', 'today', ...BERLIN)).stdout).toBe('1\n');
  });

  test('local is the zone of the machine', async () => {
    const machine = { ...thisMachine(), timezone: 'Asia/Kolkata' };
    const { stdout } = await at.run(
      ['events', 'search', '--limit', '1', '--fields', 'createdOn', '--timezone', 'local'],
      { context: { machine } },
    );
    expect(stdout).toBe(`createdOn\n2027-10-31T16:30:00${zeros}+05:30\n`);
  });

  test('conditions read times in it', async () => {
    const count = (condition: string) => at.run(['events', 'count', '--where', condition, ...BERLIN]);
    expect((await count('createdOn >= 2027-10-31')).stdout).toBe('4\n');
    expect((await count('createdOn >= 2027-10-31T00:00:00Z')).stdout).toBe('3\n');
  });

  test('the bars of a day with 25 hours begin at its hours', async () => {
    const { stdout } = await at.run([
      'events',
      'stats',
      '--since',
      '2027-10-31',
      '--until',
      '2027-11-01',
      ...BERLIN,
    ]);
    const lines = stdout.split('\n');
    const title = lines.findIndex((line) => line.startsWith('Europe/Berlin'));
    expect(lines.slice(title, title + 6).map((line) => line.slice(0, 36).trimEnd())).toEqual([
      'Europe/Berlin  failed  events   rate',
      '00:00+02:00         0       0',
      '01:00+02:00         0       0',
      '02:00+02:00         1       1  100 %',
      '02:00+01:00         1       1  100 %',
      '03:00+01:00         0       0',
    ]);
    expect(lines.length - title).toBe(1 + 25 + 4);
    expect(lines.slice(-2)).toEqual([
      'created after 2027-10-31T00:00:00+02:00 and before 2027-11-01T00:00:00+01:00',
      '',
    ]);
  });

  test('bars with the same offset name it once, above them', async () => {
    const { stdout } = await at.run(['events', 'stats', '--since', '08:00', ...BERLIN]);
    expect(stdout).toContain('\nUTC+01:00  ');
    expect(stdout).toContain(
      'created after 2027-10-31T08:00:00+01:00 and before 2027-10-31T13:00:01+01:00\n',
    );
  });

  test('groups show the first and last time in it', async () => {
    const { stdout } = await at.run(['events', 'stats', '--by', 'publishStatus', '--since', '2d', ...BERLIN]);
    expect(stdout).toContain(
      'FAILED              3       3  100 %  60.0 %  2027-10-31 02:30:00+02:00  2027-10-31 12:00:00+01:00  ',
    );
  });

  test('a report shows times in it', async () => {
    const file = path.join(at.env['HOME'] as string, 'report.html');
    const { code } = await at.run(['events', 'report', file, '--since', '2027-10-31', ...BERLIN]);
    expect(code).toBe(0);
    const html = await readFile(file, 'utf8');
    expect(html).toContain('<dd>2027-10-31 00:00+02:00 to 2027-10-31 13:00:01+01:00 (Europe/Berlin)</dd>');
    expect(html).toContain('<bdi>2027-10-31T02:30:00.1234567+01:00</bdi>');
    expect(html).toContain('<th scope="col" class="text">Europe/Berlin</th>');
    expect(html).toContain('<dt>Generated</dt><dd>2027-10-31 13:00+01:00 by ');
  });

  test('a watch shows times in it, and its resume command names it', async () => {
    const watching = at.start([
      'events',
      'watch',
      '--fields',
      'createdOn',
      '--until',
      '2027-11-01',
      ...BERLIN,
    ]);
    await watching.printed('stderr', /every 15s/);
    watching.kill('SIGINT');
    const { stderr } = await watching.finished;
    expect(stderr).toContain('watching events created after 2027-10-31T12:59:59.999+01:00, every 15s: ');
    expect(stderr).toMatch(/--until 2027-10-31T23:00:00Z --timezone Europe\/Berlin/);
  });
});
