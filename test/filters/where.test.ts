import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { idsOf, type Searching, startSearching, valuesIn } from '../support/searching.ts';
import { inShape, type KnownValues, knownOf, pathOf, shape, valueAt } from '../support/shape.ts';

interface Event extends KnownValues {
  readonly actor: string;
  readonly amount: number;
  readonly name: string;
}

let at: Searching;
let all: Event[];
const events = (command: string, ...args: string[]) => at.run(['events', command, ...args]);

beforeAll(async () => {
  at = await startSearching({ events: 700 });
  all = valuesIn((await at.search('--ndjson')).stdout).map((item) => ({
    ...knownOf(item),
    actor: valueAt(item, 'actor'),
    amount: valueAt(item, 'amount.value'),
    name: valueAt(item, 'resource.name'),
  }));
});
afterAll(() => at[Symbol.asyncDispose]());

describe('--where and --grep', () => {
  const isActor = `${pathOf('actor')} = li.wei@example.com`;
  const isLarge = `${pathOf('amount.value')} > 2500`;

  test('filter the events of a search, and --limit counts the remaining ones', async () => {
    const due = all.filter(({ actor, amount }) => actor === 'li.wei@example.com' && amount > 2500);
    expect(due.length).toBeGreaterThan(10);
    const conditions = ['--where', isActor, '--where', isLarge];
    const { stdout, stderr } = await at.search('--ndjson', '--page-size', '100', ...conditions);
    expect({ ids: idsOf(stdout), stderr }).toEqual({ ids: due.map(({ eventId }) => eventId), stderr: '' });
    const three = await at.search('--ndjson', '-n', '3', ...conditions);
    expect(idsOf(three.stdout)).toEqual(due.slice(0, 3).map(({ eventId }) => eventId));
    const grep = await at.search('--ndjson', '--grep', 'LEASE, 2nd', '--status', 'FAILED,SUCCESS');
    const named = all.filter(({ name }) => name.includes('Lease, 2nd'));
    expect(idsOf(grep.stdout)).toEqual(named.map(({ eventId }) => eventId));
  });

  test('filter the events of count, get and stats', async () => {
    const failed = all.filter(({ publishStatus, amount }) => publishStatus === 'FAILED' && amount > 2500);
    const filters = ['--failed', '--where', isLarge];
    expect(await events('count', ...filters)).toEqual({
      code: 0,
      stdout: `${failed.length}\n`,
      stderr:
        'reading the events to count them: the service does not filter by --where, --grep and --marketplace\n',
    });
    const [one, other] = all as [Event, Event];
    const got = await events(
      'get',
      one.eventId,
      other.eventId,
      '--ndjson',
      '--where',
      `eventId = ${other.eventId}`,
    );
    expect({ code: got.code, ids: idsOf(got.stdout) }).toEqual({ code: 3, ids: [other.eventId] });
    const window = ['--since', '20d', '--json'];
    const counted = JSON.parse((await events('stats', ...window)).stdout);
    const read = JSON.parse((await events('stats', ...window, '--where', 'eventId != x')).stdout);
    const seen = counted.types.filter(({ total }: { total: number }) => total > 0);
    expect(read).toEqual({ ...counted, types: seen });
  });

  test('filter an export, and a finished one is verified', async () => {
    const directory = path.join(at.env['HOME'] as string, 'export');
    const filters = ['--since', '40d', '--where', isLarge, '--page-size', '20'];
    const due = all.filter(({ amount }) => amount > 2500);
    expect((await events('export', directory, ...filters)).stderr).toMatch(
      new RegExp(`^exported: ${due.length} events`),
    );
    const names = (await readdir(directory)).filter((name) => name.startsWith('part-')).sort();
    expect(names.length).toBeGreaterThan(1);
    const lines = await Promise.all(names.map((name) => readFile(path.join(directory, name), 'utf8')));
    expect(idsOf(lines.join(''))).toEqual(due.map(({ eventId }) => eventId));
    expect((await events('export', directory, ...filters)).stderr).toMatch(/^verified: /);
    expect((await events('export', directory, '--since', '40d')).stderr).toContain(
      `  --where: ${isLarge} there, not given here\n`,
    );
  });

  test('filter what watch prints', async () => {
    // This needs its own service: the clock is put back afterwards, and these events would have later dates.
    await using watched = await startSearching({ events: 10 });
    const program = watched.start([
      'events',
      'watch',
      '--ndjson',
      '--count',
      '1',
      '--interval',
      '1s',
      '--where',
      'eventType = a.b',
    ]);
    await program.printed('stderr', /watching/);
    clock.advance(1000);
    watched.sandbox.control.addEvent({ eventType: 'b.c' });
    const { eventId } = watched.sandbox.control.addEvent({ eventType: 'a.b' });
    expect(idsOf((await program.finished).stdout)).toEqual([eventId]);
  });
});

describe('events stats --by', () => {
  const groupsOf = (due: readonly Event[]) => {
    const groups = new Map<string, Event[]>();
    for (const event of due) {
      const { name } = event;
      groups.set(name, [...(groups.get(name) ?? []), event]);
    }
    return [...groups].sort(([, a], [, b]) => b.length - a.length);
  };

  test('groups events by the values of fields, the largest first', async () => {
    const failed = all.filter(({ publishStatus }) => publishStatus === 'FAILED');
    const { code, stdout } = await events(
      'stats',
      '--since',
      '40d',
      '--failed',
      '--by',
      pathOf('resource.name'),
      '--json',
    );
    const { total, groups, others } = JSON.parse(stdout);
    expect({ code, total, others }).toEqual({
      code: 0,
      total: failed.length,
      others: { groups: 0, count: 0 },
    });
    const expected = groupsOf(failed);
    expect(groups.map(({ count }: { count: number }) => count)).toEqual(
      expected.map(([, { length }]) => length),
    );
    for (const { by, example, ...figures } of groups) {
      const of = failed.filter(({ name }) => name === by[pathOf('resource.name')]);
      const times = of.map(({ createdOn }) => createdOn).sort();
      expect(figures).toEqual({
        count: of.length,
        failed: of.length,
        failureRate: null,
        share: of.length / failed.length,
        first: times[0],
        last: times.at(-1),
      });
      expect(of.map(({ eventId }) => eventId)).toContain(example);
    }
  });

  test('sums the groups beyond --limit in one line, and has a table and CSV', async () => {
    const args = ['stats', '--since', '40d', '--by', 'eventType,publishStatus', '--limit', '2'];
    const table = (await events(...(args as [string, ...string[]]))).stdout.trimEnd().split('\n');
    expect(table[0]?.split(/ {2,}/)).toEqual([
      'eventType',
      'publishStatus',
      'events',
      'failed',
      'rate',
      'share',
      'first',
      'last',
      'example',
    ]);
    expect(table).toHaveLength(5);
    expect(table[4]).toMatch(/^created after 20\S+Z and before 20\S+Z$/);
    const markdown = await events('stats', '--by', 'eventType', '--failed', '-o', 'markdown');
    expect(markdown.stdout).toMatch(
      /\n\*\d+ events; 127\.0\.0\.1:\d+; created after 20\S+Z and before 20\S+Z; --status FAILED: `/,
    );
    expect(table[3]).toMatch(/^\d+ other groups: [\d,]+ events \(\d+(\.\d)? %\)$/);
    const printed = await events(...(args as [string, ...string[]]), '--csv');
    expect(printed.stderr).toBe(`not shown: ${table[3]}\n`);
    const csv = printed.stdout.split('\r\n');
    expect(csv[0]).toBe('eventType,publishStatus,count,failed,failureRate,share,first,last,example');
    expect(csv).toHaveLength(4);
  });

  test('gives each group its failures and their rate beside its share of all', async () => {
    const of = (status?: string) =>
      all.filter(({ publishStatus }) => status === undefined || publishStatus === status);
    const ask = async (...flags: string[]) => {
      const { stdout } = await events(
        'stats',
        '--since',
        '40d',
        '--by',
        pathOf('resource.name'),
        '--ndjson',
        ...flags,
      );
      return valuesIn(stdout).map(({ by, count, failed, failureRate, share }) => [
        by[pathOf('resource.name')],
        [count, failed, failureRate, share],
      ]);
    };
    const expected = (due: readonly Event[], figures: (own: readonly Event[], failed: number) => unknown[]) =>
      groupsOf(due).map(([name, own]) => {
        const failed = own.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
        return [name, [own.length, ...figures(own, failed), own.length / due.length]];
      });
    const byName = (rows: unknown[][]) => Object.fromEntries(rows);
    expect(byName(await ask())).toEqual(
      byName(expected(of(), ({ length }, failed) => [failed, failed / length])),
    );
    expect(byName(await ask('--status', 'SUCCESS'))).toEqual(
      byName(expected(of('SUCCESS'), () => [null, null])),
    );
  });

  test.each(['--csv', '--ndjson'])('%s holds all groups, as JSON and piped tables do', async (format) => {
    const args = ['--since', '40d', '--by', 'eventType,publishStatus'] as const;
    const json = JSON.parse((await events('stats', ...args, '--json')).stdout);
    expect(json.others).toEqual({ groups: 0, count: 0 });
    expect(json.groups.length).toBeGreaterThan(20);
    const { stdout, stderr } = await events('stats', ...args, format);
    expect(stderr).toBe('');
    expect(stdout.trimEnd().split('\n')).toHaveLength(json.groups.length + (format === '--csv' ? 1 : 0));
    const few = await events('stats', ...args, format, '--limit', '2');
    expect(few.stdout.trimEnd().split('\n')).toHaveLength(format === '--csv' ? 3 : 2);
    expect(few.stderr).toMatch(new RegExp(`^not shown: ${json.groups.length - 2} other groups: `));
    const table = (await events('stats', ...args)).stdout.trimEnd().split('\n');
    expect(table).toHaveLength(1 + json.groups.length + 1);
    if (format === '--ndjson') expect(valuesIn(stdout)).toEqual(json.groups);
  });

  test('a table on a terminal has the 20 largest groups, and sums up the others', async () => {
    const choice = ['--marketplace', 'all'];
    const args = ['events', 'stats', '--since', '40d', '--by', 'eventType,publishStatus', ...choice];
    const terminal = at.start(args, { terminal: 200 });
    expect((await terminal.finished).code).toBe(0);
    const lines = terminal.screen.trimEnd().split('\n');
    expect(lines.findIndex((line) => /\d+ other groups: [\d,]+ events/.test(line))).toBe(1 + 20);
  });

  test('--csv-bom begins the CSV of statistics with a byte order mark', async () => {
    for (const args of [['--by', 'eventType'], []]) {
      const plain = await events('stats', '--since', '40d', ...args, '--csv');
      const marked = await events('stats', '--since', '40d', ...args, '--csv', '--csv-bom');
      expect(marked.stdout).toBe(`\ufeff${plain.stdout}`);
    }
  });

  test('warns about a field that no event has', async () => {
    const { code, stderr } = await events('stats', '--since', '40d', '--by', 'eventType,nope.x', '--csv');
    expect({ code, stderr }).toEqual({ code: 0, stderr: "warning: --by: no event has the field 'nope.x'\n" });
    const near = await events('stats', '--since', '40d', '--failed', '--by', 'actors', '--json');
    expect(near.stderr).toBe(
      `warning: --by: no event has the field 'actors'; did you mean ${pathOf('actor')}?\n`,
    );
  });

  test('is a section of the report too', async () => {
    const file = path.join(at.env['HOME'] as string, 'by.html');
    const report = await events(
      'report',
      file,
      '--since',
      '40d',
      '--by',
      `${pathOf('resource.name')},eventType`,
      '--where',
      'eventType ~ document',
    );
    expect(report.code).toBe(0);
    const page = await readFile(file, 'utf8');
    const failed = all.filter(
      ({ publishStatus, eventType }) => publishStatus === 'FAILED' && eventType.includes('document'),
    );
    const groups = new Map<string, number>();
    for (const { name, eventType } of failed) {
      const group = `${name} · ${eventType}`;
      groups.set(group, (groups.get(group) ?? 0) + 1);
    }
    const [largest] = [...groups.values()].sort((a, b) => b - a);
    const [, section = ''] = page.split(`<h2>Failures by ${pathOf('resource.name')}, eventType</h2>`);
    const [shown, unfolded] = section.split('</section>')[0]?.split('<details>') ?? [];
    expect(shown?.match(/<tr>/g)).toHaveLength(1 + 15);
    expect(unfolded?.match(/<tr>/g)).toHaveLength(1 + groups.size - 15);
    expect(section.match(/<td class="number"><bdi>(\d+)</)?.[1]).toBe(String(largest));
  });
});

describe('a condition that no event can meet', () => {
  const warned = async (command: string, ...args: string[]) => {
    const { code, stderr } = await events(command, ...args);
    const lines = stderr.split('\n').filter((line) => line.startsWith('warning: '));
    const bare = (line: string) =>
      line.slice('warning: '.length).replace(/ \([\d,]+ events? looked at\)$/, '');
    return { code, warnings: lines.map(bare) };
  };

  test.each([
    ['statuss = FAILED', "--where: no event has the field 'statuss'; did you mean publishStatus?"],
    [
      'PublishStatus = FAILED',
      "--where: no event has the field 'PublishStatus'; did you mean publishStatus?",
    ],
    ['publishStatus = failed', "--where: no event has 'failed' in publishStatus; did you mean FAILED?"],
    ['publishStatus != failed', "--where: no event has 'failed' in publishStatus; did you mean FAILED?"],
    ...inShape({
      flat: [
        [
          'delivery.lasterror.httpstatus = 503',
          "--where: no event has the field 'delivery.lasterror.httpstatus'; did you mean delivery.lastError.httpStatus?",
        ],
        ['attempts > 2', "--where: no event has the field 'attempts'; did you mean delivery.attempts?"],
        ['!Delivery', "--where: no event has the field 'Delivery'; did you mean delivery?"],
        [
          'delivery.attempts = three',
          '--where: no event has a value in delivery.attempts that compares with three',
        ],
      ],
      published: [
        [
          'eventdata.headers.messageid = 503',
          "--where: no event has the field 'eventdata.headers.messageid'; did you mean eventData.headers.messageId?",
        ],
        ['page > 2', "--where: no event has the field 'page'; did you mean eventData.body.pages?"],
        ['!EventData', "--where: no event has the field 'EventData'; did you mean eventData?"],
        [
          'eventData.body.pages = three',
          '--where: no event has a value in eventData.body.pages that compares with three',
        ],
      ],
    }),
    ['publishStatus > 3', '--where: no event has a value in publishStatus that compares with 3'],
    ['nowhere.near', "--where: no event has the field 'nowhere.near'"],
  ])('%s warns with the near name or value', async (condition, warning) => {
    expect(await warned('search', '--where', condition)).toEqual({ code: 0, warnings: [warning] });
  });

  test('is said by every command that takes conditions', async () => {
    const home = at.env['HOME'] as string;
    const file = path.join(home, 'stored.ndjson');
    await at.search('--ndjson', '--output-file', file);
    const wrong = ['--where', 'statuss = FAILED'];
    const said = {
      code: 0,
      warnings: ["--where: no event has the field 'statuss'; did you mean publishStatus?"],
    };
    expect(await warned('count', ...wrong)).toEqual(said);
    expect(await warned('count', ...wrong, '--from', file)).toEqual(said);
    expect(await warned('stats', '--since', '40d', ...wrong)).toEqual(said);
    expect(await warned('stats', '--since', '40d', '--by', 'eventType', ...wrong)).toEqual(said);
    expect(await warned('report', path.join(home, 'r.html'), '--since', '40d', ...wrong)).toEqual(said);
    expect(await warned('export', path.join(home, 'none'), '--since', '40d', ...wrong)).toEqual(said);
    expect(await warned('get', (all[0] as Event).eventId, ...wrong)).toEqual({
      ...said,
      code: 3,
      warnings: [
        ...said.warnings,
        `the event ${(all[0] as Event).eventId} was not found by these filters`,
      ].toReversed(),
    });
    const watch = at.start(['events', 'watch', ...wrong]);
    await watch.printed(
      'stderr',
      /warning: --where: no event has the field 'statuss'; did you mean publishStatus\? \(\d+ events looked at\) \(of the latest 100\)\n/,
    );
    watch.kill('SIGINT');
    await watch.finished;
  });

  // The items of the published shape have no null.
  test.runIf(shape === 'flat')('presence is a value other than null', async () => {
    const present = await at.search('--ndjson', '--where', 'delivery.lastError');
    const failed = all.filter(({ publishStatus }) => publishStatus === 'FAILED');
    expect(idsOf(present.stdout)).toEqual(failed.map(({ eventId }) => eventId));
    const absent = await at.search('--ndjson', '--where', '!delivery.lastError');
    expect(idsOf(absent.stdout)).toHaveLength(all.length - failed.length);
  });
});
