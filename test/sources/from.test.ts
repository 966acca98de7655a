import { execFileSync } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { matchingItems } from '../../src/event-types/list-event-types.ts';
import { Items } from '../../src/items/items.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { createHome } from '../support/home.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { idsOf, valuesIn } from '../support/searching.ts';
import { knownOf } from '../support/shape.ts';

let at: Exporting;
let lines: string;
let ids: string[];
/** A home folder without settings or a sign-in. */
let home: Awaited<ReturnType<typeof createHome>>;
const offline = (args: readonly string[], stdin = '') =>
  hooktrail(['events', ...args], { env: home.env, stdin });
const inHome = (name: string) => path.join(home.env['HOME'] as string, name);

beforeAll(async () => {
  at = await startExporting({ events: 700 });
  home = await createHome();
  lines = (await at.search('--ndjson')).stdout;
  ids = idsOf(lines);
  await writeFile(inHome('events.ndjson'), lines);
  await writeFile(inHome('events.gz'), gzipSync(lines));
  await at.export('--page-size', '50', '--status', 'FAILED', '--status', 'SUCCESS', '--gzip');
});
afterAll(async () => {
  await at[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

describe('--from, without a sign-in', () => {
  test('warns of events that end before the time asked about: nothing found is no all-clear', async () => {
    const stdin =
      '{"eventId":"1","createdOn":"2026-11-18T10:00:00Z","publishStatus":"SUCCESS","subscriptionId":"s"}\n';
    // The export took a second.
    const warning = 'warning: --from: no event was created after 2026-11-19T12:00:01Z\n';
    for (const command of ['count', 'explain', 'health', 'search']) {
      const { code, stderr } = await offline([command, '--from', '-', '--since', '1d'], stdin);
      expect({ command, code, stderr }).toEqual({
        command,
        code: 0,
        stderr: expect.stringContaining(warning),
      });
      const { stderr: none } = await offline([command, '--from', '-', '--since', '3d'], stdin);
      expect({ command, stderr: none }).toEqual({ command, stderr: '' });
    }
  });

  test('CSV of a file has the columns of all its events', async () => {
    const events = Array.from(
      { length: 2_000 },
      (_, index) => `{"eventId":"${index}","size":"${'x'.repeat(300)}"}\n`,
    );
    await writeFile(inHome('late.ndjson'), `${events.join('')}{"eventId":"late","note":{"last":1}}\n`);
    const { code, stdout, stderr } = await offline(['search', '--from', inHome('late.ndjson'), '--csv']);
    const [header, ...rows] = stdout.split('\r\n');
    expect([code, header, rows.at(-2), stderr]).toEqual([0, 'eventId,size,note.last', 'late,,1', '']);
  });

  test('takes a start after the time of this machine: another one wrote the events', async () => {
    const event = (id: string, publishStatus: string) =>
      `{"eventId":"${id}","createdOn":"2026-11-21T10:00:0${id}Z","publishStatus":"${publishStatus}","subscriptionId":"s"}\n`;
    const stdin = event('1', 'FAILED') + event('2', 'SUCCESS');
    const counts = {
      search: '"1"',
      count: '2',
      explain: '"failed":1',
      health: '"failed":1',
      stats: '"failed":1',
    };
    for (const [command, count] of Object.entries(counts)) {
      const { code, stdout, stderr } = await offline(
        [command, '--from', '-', '--since', '2026-11-21', '--json'],
        stdin,
      );
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
      expect(stdout.replace(/\s/g, '')).toContain(count);
    }
  });

  test('finds a status however the text of its JSON is written', async () => {
    const item = (id: string, member: string) =>
      `{"eventId":"${id}","createdOn":"2026-11-20T10:00:00Z",${member}}\n`;
    const written = [
      '"publishStatus":"FAILED"',
      '"publishStatus":"FAILE\\u0044"',
      '"publishStatus":"\\u0046\\u0041\\u0049\\u004c\\u0045\\u0044"',
      '"publish\\u0053tatus" : "FAILED"',
      '"\\u0070ublishStatus":"\\u0046AILED"',
    ];
    const delivered = ['"publishStatus":"SUCCESS"', '"publishStatus":"SUCCES\\u0053"', '"note":"FAILED"'];
    const stdin = [...written, ...delivered].map((member, index) => item(`${index}`, member)).join('');
    const { stdout } = await offline(['search', '--from', '-', '--failed', '--ndjson'], stdin);
    expect(valuesIn(stdout).map(({ eventId }) => eventId)).toEqual(['0', '1', '2', '3', '4']);
    const { stdout: others } = await offline(
      ['search', '--from', '-', '--status', 'SUCCESS', '--ndjson'],
      stdin,
    );
    expect(valuesIn(others).map(({ eventId }) => eventId)).toEqual(['5', '6']);
  });

  const leftOut = (events: string) =>
    `warning: ${events} left out: createdOn is missing or not a time, which --since and --until need\n`;
  const counted = 'warning: 2 events counted, but in no span of time: createdOn is missing or not a time\n';
  const unlisted = (type: string, next: string) =>
    `warning: '${type}' is not among the event types of standard input; ${next}\n`;
  const unknownOutcomes = 'no event has the publishStatus SUCCESS or FAILED, so failures are unknown\n';
  const meant = unlisted('ordr.paid', 'did you mean order.paid?');
  test.each([
    ...['search --csv', 'count', 'stats', 'explain', 'health', 'report -'].map(
      (command) => [`${command} --since 2d`, 0, leftOut('2 events')] as const,
    ),
    ['count --until now --where eventType=order.sent', 0, leftOut('1 event')],
    ...['stats', 'explain', 'health', 'report -'].map((command) => [command, 0, counted] as const),
    ...['search --csv', 'count', 'stats', 'explain', 'health'].map(
      (command) => [`${command} --until now --type ordr.paid`, 0, meant] as const,
    ),
    ['count --type order.paid,ordr.*', 0, unlisted('ordr.*', 'did you mean order.*?')],
    ['count --type orders', 0, unlisted('orders', 'did you mean order.*?')],
    ['count --type ORDER.*,order.sent', 0, ''],
    ['search --ndjson --limit 1 --type order.paid,order.sent', 0, ''],
    ['search --ndjson --limit 1 --type order.sent,none', 0, ''],
    [
      'count --type none',
      0,
      unlisted('none', '`… | hooktrail events stats --by eventType --from -` lists them'),
    ],
    ['count --failed', 0, `warning: --from: ${unknownOutcomes}`],
    ...['count', 'search', 'search --json'].map(
      (command) => [`${command} --failed --exit-code`, 1, `error: --from: ${unknownOutcomes}`] as const,
    ),
    ['count --exit-code', 10, ''],
  ] as const)(
    '%s says what it left out and which name nothing has: exit code %i',
    async (words, code, said) => {
      const status = said.includes(unknownOutcomes) ? 'state' : 'publishStatus';
      const event = (type: string, createdOn?: string) =>
        `${JSON.stringify({ eventType: `order.${type}`, subscriptionId: 's', [status]: 'SUCCESS', createdOn })}\n`;
      const stdin = [
        event('sent', '2026-11-20T10:00:00Z'),
        event('paid', '2026-11-20T10:00:01Z'),
        event('paid', 'today'),
        event('sent'),
      ];
      const result = await offline([...words.split(' '), '--from', '-'], stdin.join(''));
      expect({ code: result.code, said: result.stderr.replace('no events match\n', '') }).toEqual({
        code,
        said,
      });
    },
  );

  test.each(['search', 'count', 'stats', 'explain', 'health', 'report -'])(
    '%s says how many events of several files put together are there again',
    async (command) => {
      const event = (n: number) =>
        `{"eventId":"e${n}","createdOn":"2026-11-20T10:0${n}:00Z","publishStatus":"${n > 1 ? 'SUCCESS' : 'FAILED'}"}\n`;
      const again =
        'warning: --from: 2 events have the eventId and subscription of an earlier one, and count again\n';
      for (const [last, said] of [[[0, 1], again] as const, [[4, 5], ''] as const]) {
        const stdin = [0, 1, 2, 3, ...last].map(event).join('') + '{"a":1}\n'.repeat(2);
        const { code, stderr } = await offline(
          [...command.split(' '), '--from', '-', '--until', 'now'],
          stdin,
        );
        expect({ code, said: stderr.replace(/^(?!.*earlier).*\n/gm, '') }).toEqual({ code: 0, said });
      }
    },
  );

  test('--reverse puts what was read once in order of creation, whatever its order there', async () => {
    const event = (minute: number, n: number) => `{"createdOn":"2026-11-20T10:0${minute}:00Z","n":${n}}\n`;
    const [old, middle, twin, late, undated] = [
      event(1, 1),
      event(2, 2),
      event(2, 3),
      event(3, 4),
      '{"n":5}\n',
    ];
    for (const [stdin, expected] of [
      [
        [late, twin, middle, old],
        [old, middle, twin, late],
      ],
      [
        [middle, old, undated, twin, late],
        [old, middle, twin, late, undated],
      ],
      [
        [old, late, middle],
        [old, middle, late],
      ],
      [
        ['{"n":6}\n', undated],
        [undated, '{"n":6}\n'],
      ],
    ] as const)
      for (const limit of [1, 5]) {
        const search = ['search', '--from', '-', '--ndjson', '--reverse', '-n', String(limit)];
        expect(await offline(search, stdin.join(''))).toMatchObject({
          code: 0,
          stderr: '',
          stdout: expected.slice(0, limit).join(''),
        });
      }
  });

  test('the next step after a pipe that has been read shows the place of what was piped', async () => {
    const event = (id: number) =>
      `{"eventId":"${id}","createdOn":"2026-11-20T10:00:00Z","publishStatus":"FAILED"}\n`;
    const stdin = [1, 2, 3].map(event).join('');
    const { stdout } = await offline(['explain', '--from', '-'], stdin);
    expect(stdout).toContain('… | hooktrail events search --failed --from -');
  });

  test('compressed data that is cut is an error that says so', async () => {
    const file = inHome('cut.gz');
    await writeFile(file, gzipSync(lines).subarray(0, 500));
    expect(await offline(['count', '--from', file])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${file} cannot be read: unexpected end of file\nnext: the compressed data is cut or damaged: make or copy it again\n`,
    });
  });

  test('reads a pipe, and a signal ends the wait for one that nobody writes to', async () => {
    const pipe = inHome('pipe');
    execFileSync('mkfifo', [pipe]);
    const counted = offline(['count', '--from', pipe]);
    await writeFile(pipe, lines);
    expect(await counted).toEqual({ code: 0, stdout: '700\n', stderr: '' });
    const waiting = startHooktrail(['events', 'count', '--from', pipe], { env: home.env });
    const late = setTimeout(() => waiting.kill('SIGINT'), 300);
    expect(await waiting.finished).toMatchObject({ code: 130, stdout: '' });
    clearTimeout(late);
  });

  test('a pipe is read once, so no command concludes from a second reading', async () => {
    const pipe = inHome('once');
    execFileSync('mkfifo', [pipe]);
    const explained = offline(['explain', '--from', pipe, '--json']);
    await writeFile(pipe, lines);
    const failed = valuesIn(lines).filter((item) => knownOf(item).publishStatus === 'FAILED').length;
    expect(JSON.parse((await explained).stdout)).toMatchObject({ events: 700, failed });
    // Refused before the pipe is opened.
    expect((await offline(['explain', '--baseline', '1d', '--from', pipe])).stderr).toContain(
      `error: --baseline: ${pipe} is read once, and the baseline has other events\n`,
    );
  });

  test('reads a file, a compressed file, standard input and an export, byte for byte', async () => {
    const search = (place: string, stdin = '') => offline(['search', '--ndjson', '--from', place], stdin);
    const same = { code: 0, stdout: lines, stderr: '' };
    expect(await search(inHome('events.ndjson'))).toEqual(same);
    expect(await search(inHome('events.gz'))).toEqual(same);
    expect(await search('-', lines)).toEqual(same);
    expect(await search(at.directory)).toEqual(same);
  });

  const FILTERS = [
    ['--failed'],
    ['--type', 'document.signed,document.created', '--status', 'success'],
    ['--since', '2d', '--until', '12h'],
    ['--where', 'delivery.attempts > 1', '--grep', 'lease'],
    ['--failed', '-n', '7'],
    ['--type', 'Document.Signed'],
  ];
  test.each(FILTERS.map((filters) => [filters]))(
    'filters %j mean the same as at the service',
    async (filters) => {
      const online = (await at.search('--ndjson', ...filters)).stdout;
      for (const place of [inHome('events.ndjson'), at.directory])
        expect((await offline(['search', '--ndjson', '--from', place, ...filters])).stdout).toBe(online);
      expect((await offline(['count', '--from', inHome('events.gz'), ...filters])).stdout).toBe(
        filters.includes('-n') ? '' : (await at.run(['events', 'count', ...filters])).stdout,
      );
    },
  );

  test('bounds are exact to 100 ns, ids ignore case', async () => {
    const { createdOn, eventId } = knownOf(valuesIn(lines)[10]);
    const from = ['--from', inHome('events.ndjson'), '--ndjson'];
    const after = await offline(['search', ...from, '--since', createdOn]);
    expect(idsOf(after.stdout)).toEqual(ids.slice(0, 10));
    const before = await offline(['search', ...from, '--until', createdOn, '-n', '1']);
    expect(idsOf(before.stdout)).toEqual([ids[11]]);
    expect(idsOf((await offline(['search', ...from, '--id', eventId.toUpperCase()])).stdout)).toEqual([
      eventId,
    ]);
  });

  test('get prints events in the order of their ids', async () => {
    const wanted = [ids[40], ids[3], ids[40]] as string[];
    const missing = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const got = await offline(['get', ...wanted, missing, '--ndjson', '--from', at.directory]);
    expect({ code: got.code, ids: idsOf(got.stdout), stderr: got.stderr }).toEqual({
      code: 3,
      ids: wanted,
      stderr: `warning: the event ${missing} was not found\n`,
    });
  });

  test('stats and report count the events', async () => {
    const window = ['--since', '2d', '--until', '1h', '--json'];
    const online = JSON.parse((await at.run(['events', 'stats', ...window])).stdout);
    const types = online.types.filter(({ total }: { total: number }) => total > 0);
    const stats = await offline(['stats', '--from', inHome('events.ndjson'), ...window]);
    expect(JSON.parse(stats.stdout)).toEqual({ ...online, types });
    // Without --since, all events count.
    const all = JSON.parse((await offline(['stats', '--from', at.directory, '--json'])).stdout);
    expect(all.total).toBe(ids.length);
    expect(all.buckets.reduce((sum: number, { total }: { total: number }) => sum + total, 0)).toBe(
      ids.length,
    );
    const by = JSON.parse(
      (await offline(['stats', '--from', at.directory, '--by', 'eventType', '--json'])).stdout,
    );
    expect(by.total).toBe(ids.length);
    const report = inHome('report.html');
    const failed = valuesIn(lines).filter(({ publishStatus }) => publishStatus === 'FAILED');
    expect((await offline(['report', report, '--from', at.directory])).stderr).toBe(
      `wrote ${report}: ${failed.length} failures\n`,
    );
    expect(await readFile(report, 'utf8')).toContain(knownOf(failed[0]).eventId);
  });

  test('events of the first and of the last moment that there is are counted', async () => {
    const file = inHome('moments.ndjson');
    const event = (createdOn: string, publishStatus: string) => JSON.stringify({ createdOn, publishStatus });
    await writeFile(
      file,
      `${event('9999-12-31T23:59:59.9999999Z', 'FAILED')}\n${event('0000-01-01', 'SUCCESS')}\n`,
    );
    for (const command of ['stats', 'explain', 'health'])
      expect(await offline([command, '--json', '--from', file])).toMatchObject({ code: 0 });
    expect(JSON.parse((await offline(['stats', '--json', '--from', file])).stdout)).toMatchObject({
      total: 2,
      failed: 1,
    });
  });

  test('an event of any depth is shown, and its type is found', async () => {
    const [file, deep] = [inHome('deep.ndjson'), `${'['.repeat(100_000)}"x"${']'.repeat(100_000)}`];
    await writeFile(
      file,
      `{"publishStatus":"FAILED","eventType":"a","error":${deep}}\n{"publishStatus":"SUCCESS"}\n`,
    );
    const place = ['--from', file];
    expect((await offline(['search', '--fields', 'eventType', ...place])).stdout).toBe('eventType\na\n-\n');
    for (const command of [
      ['search'],
      ['search', '-o', 'markdown'],
      ['report', inHome('deep.html')],
      ['explain'],
    ])
      expect(await offline([...command, ...place])).toMatchObject({ code: 0 });
    const types = Items.of([deep, '{"name":"other"}'].map((text) => Buffer.from(text)));
    expect(matchingItems(types, 'X').texts().map(String)).toEqual([deep]);
  });

  test('a damaged line is an error that names the file and the line', async () => {
    const file = inHome('damaged.ndjson');
    const all = lines.split('\n');
    for (const bad of ['{"eventId":', '{"eventId":"x', '{} x', '\u0000', '[1,]', '{"a":"\n"}']) {
      await writeFile(file, ['', ...all.slice(0, 700), bad, ...all.slice(700)].join('\n'));
      const { code, stdout, stderr } = await offline(['search', '--ndjson', '--from', file, '--failed']);
      expect({ code, named: stderr.startsWith(`error: ${file}, line 702: `) }).toEqual({
        code: 1,
        named: true,
      });
      expect(stdout.endsWith('}\n') || stdout === '').toBe(true);
    }
    await writeFile(file, Buffer.concat([Buffer.from('{}\n{"a":"'), Buffer.of(0xff), Buffer.from('"}\n{}')]));
    expect((await offline(['count', '--from', file])).stderr).toContain(`${file}, line 2: it is not UTF-8\n`);
    await writeFile(file, gzipSync(lines).subarray(0, 5000));
    const cut = await offline(['count', '--from', file]);
    expect([cut.code, cut.stderr.startsWith(`error: ${file} cannot be read: `)]).toEqual([1, true]);
  });

  test.each([
    ['one line', (events: string[]) => `[${events.join(',')}]`],
    ['an event a line, as --json prints it', (events: string[]) => `[\n${events.join(',\n')}\n]\n`],
    ['many lines an event', (events: string[]) => `\n${indented(events)}\n`],
  ])('a JSON array on %s is read as its events', async (_, arrayOf) => {
    const events = lines.trimEnd().split('\n');
    const file = inHome('array.json');
    for (const bytes of [Buffer.from(arrayOf(events)), gzipSync(arrayOf(events))]) {
      await writeFile(file, bytes);
      const { code, stdout } = await offline(['search', '--json', '--from', file]);
      expect([code, JSON.parse(stdout)]).toEqual([0, events.map((event) => JSON.parse(event))]);
    }
    expect((await offline(['count', '--from', '-'], arrayOf(events))).stdout).toBe('700\n');
    expect((await offline(['search', '--ndjson', '--from', '-'], '[]')).stdout).toBe('');
  });

  test('statuses in another case match nothing, and a warning counts them', async () => {
    const text = ['failed', 'Failed', 'FAILED', 'Success'].map((publishStatus) =>
      JSON.stringify({ publishStatus }),
    );
    expect(await offline(['count', '--failed', '--from', '-'], text.join('\n'))).toEqual({
      code: 0,
      stdout: '1\n',
      stderr:
        "warning: --status: 2 events left out: their publishStatus is failed or Failed, which the service does not have; --where 'publishStatus ~ failed' finds those too\n",
    });
    expect(await offline(['count', '--from', '-'], text.join('\n'))).toEqual({
      code: 0,
      stdout: '4\n',
      stderr: '',
    });
  });

  test('groups of one moment with different offsets show what tells them apart', async () => {
    const moments = ['2026-11-20T08:00:00Z', '2026-11-20T09:00:00+01:00', '2026-11-20T10:00:00+01:00'];
    const text = moments.map((at) => JSON.stringify({ at, publishStatus: 'FAILED' })).join('\n');
    const { stdout } = await offline(['stats', '--by', 'at', '--from', '-'], text);
    expect(stdout.match(/^2026\S+( \S+)?/gm)).toEqual([
      '2026-11-20 08:00:00Z',
      '2026-11-20 09:00:00+01:00',
      '2026-11-20 09:00:00Z',
    ]);
  });

  test.each(['[{"a":1}][{"b":2}]', '[{"a":1}]\n[]\n[{"b":2}]\n'])(
    'arrays may follow one another, as `cat` makes of several files: %s',
    async (text) => {
      const { code, stdout } = await offline(['search', '--json', '--from', '-'], text);
      expect([code, JSON.parse(stdout)]).toEqual([0, [{ a: 1 }, { b: 2 }]]);
    },
  );

  test('objects one after the other may have any number of lines, as jq prints them', async () => {
    const events = lines.trimEnd().split('\n');
    const text = indented(events).slice(1, -1).replaceAll('\n  },', '\n  }');
    const { code, stdout } = await offline(['search', '--json', '--from', '-'], `${text}{}{"a":1}`);
    expect([code, JSON.parse(stdout)]).toEqual([0, [...events.map((e) => JSON.parse(e)), {}, { a: 1 }]]);
  });

  test.each([
    ['7\n', 1, 'it is not a JSON object'],
    ['{}\n\n"x"\n', 3, 'it is not a JSON object'],
    ['null', 1, 'it is not a JSON object'],
    ['{}\n[{}]\n', 2, 'it is not a JSON object'],
    ['[1]', 1, 'it is not a JSON object'],
    ['[{},\n\n{},[]]', 3, 'it is not a JSON object'],
    ['[{},\n]', 2, 'it is not a JSON object'],
    ['[{}\n{}]', 2, "',' or ']' expected"],
    ['[\n{"a":\n1x}]', 2, 'it is not JSON'],
    ['[{},\n{}', 2, 'the array is not closed'],
    ['[{}]\n\n{}', 3, 'something follows the array'],
    ['[\n{"a":[\n', 2, 'it is cut off'],
    ['yesterday', 1, 'it is not a JSON object'],
    ['{}\n{"a":1', 2, 'it is cut off'],
    ['{"a":1}\n{"a":\n{"a":2}\n{"a":3}', 2, 'it is not JSON'],
  ])('what is not a JSON object is an error with its line: %j', async (text, line, why) => {
    expect(await offline(['count', '--from', '-'], text)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: standard input, line ${line}: ${why}\n` +
        'next: events are read as JSON objects one after the other, as --ndjson prints them and `hooktrail events export` writes them, or as arrays of objects, as --json prints them; of a CSV, `hooktrail events get - < FILE` reads the ids and asks the service\n',
    });
  });

  test('text in pieces of any size is read the same, also byte order marks of several files or gzip cut in its first bytes', async () => {
    const text = Buffer.from(lines.slice(0, 20_000).replace(/[^\n]*$/, ''));
    const events = text.toString().trimEnd().split('\n');
    const array = Buffer.from(`[${events.join(',\n')}]`);
    const [first, ...others] = events;
    const marked = Buffer.from(`\ufeff\n${first}\n\ufeff${others.join('\n')}\n`);
    const markedArrays = Buffer.from(`\ufeff[${first}]\n\ufeff[${others}]`);
    for (const bytes of [text, array, marked, markedArrays, gzipSync(text)]) {
      for (const size of [1, 3, 7, 4096]) {
        const running = startHooktrail(['events', 'search', '--ndjson', '--from', '-'], {
          env: home.env,
          stdin: null,
        });
        for (let at = 0; at < bytes.length; at += size) {
          running.stdin.write(bytes.subarray(at, at + size));
          if (at < 5) await new Promise((resolve) => setImmediate(resolve));
        }
        running.stdin.end();
        expect(await running.finished).toEqual({ code: 0, stdout: text.toString(), stderr: '' });
      }
    }
  });

  test('an event on a pipe is printed when its line ends, in however many pieces it came', async () => {
    const running = startHooktrail(['events', 'search', '--ndjson', '--from', '-'], {
      env: home.env,
      stdin: null,
    });
    running.stdin.write('{}\n');
    // From now on each piece is read by itself.
    await running.printed('stdout', /^\{\}\n/);
    for (const piece of ['{"eventId":"a","text":"', 'x'.repeat(1_000), '"', '}\n']) {
      running.stdin.write(piece);
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    await running.printed('stdout', /^\{"eventId":"a","text":"x{1000}"\}\n/m);
    running.stdin.end();
    expect((await running.finished).code).toBe(0);
  });

  test('an object without an end is given up at 32 MiB, in a time that grows with its length', async () => {
    const text = `{"eventId":"${'x'.repeat(33 << 20)}`;
    const { code, stderr } = await offline(['count', '--from', '-'], `{}\n${text}`);
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      'error: standard input, line 2: it is longer than 32 MiB, which no event is',
    ]);
    const many = `[${'{"a":"0123456789"},'.repeat(500_000)}{}]`;
    expect((await offline(['count', '--from', '-'], many)).stdout).toBe('500001\n');
  });

  test('a last line without an end counts, white space between tokens does not', async () => {
    const file = inHome('loose.ndjson');
    await writeFile(file, '{ "eventId" : "a b" }\r\n\n  {"eventId":"c"}');
    expect((await offline(['search', '--ndjson', '--from', file])).stdout).toBe(
      '{"eventId":"a b"}\n{"eventId":"c"}\n',
    );
  });

  test('a byte order mark is ignored, and the error for UTF-16 names its cause', async () => {
    const file = inHome('windows.ndjson');
    const text = '\ufeff{"eventId":"é"}\r\n{"eventId":"c"}\r\n';
    const same = { code: 0, stdout: '{"eventId":"é"}\n{"eventId":"c"}\n', stderr: '' };
    for (const bytes of [Buffer.from(text), gzipSync(text)]) {
      await writeFile(file, bytes);
      expect(await offline(['search', '--ndjson', '--from', file])).toEqual(same);
    }
    expect(await offline(['search', '--ndjson', '--from', '-'], text)).toEqual(same);
    const event = '8b9f5a3c-6a0e-4f0e-9d55-7c0f6f4f1a11';
    await writeFile(file, `\ufeff{"eventId":"${event}"}\r\n`);
    expect((await offline(['get', '-', '--from', file, '--ndjson'], `\ufeff${event}\r\n`)).stdout).toBe(
      `{"eventId":"${event}"}\n`,
    );
    await writeFile(file, text, 'utf16le');
    const { code, stderr } = await offline(['count', '--from', file]);
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      `error: ${file}, line 1: it is UTF-16, which Windows PowerShell makes of it with >; use --output-file`,
    ]);
    await writeFile(file, Buffer.from(text, 'utf16le').swap16());
    expect((await offline(['count', '--from', file])).stderr.split('\n')[0]).toBe(
      `error: ${file}, line 1: it is UTF-16; write it as UTF-8`,
    );
  });

  test.each([
    ['zip', 'PK\x03\x04\x14\0\0\0\x08\0'],
    ['tar', `november/manifest.json${'\0'.repeat(78)}0000644\0`],
  ])('an archive of %s is to be unpacked first', async (extension, text) => {
    const file = inHome(`november.${extension}`);
    for (const bytes of [Buffer.from(text), gzipSync(text)]) {
      await writeFile(file, bytes);
      const { code, stderr } = await offline(['count', '--from', file]);
      expect([code, stderr.split('\n')[0]]).toEqual([
        1,
        `error: ${file}, line 1: it is not text; unpack it first`,
      ]);
    }
  });

  test('the manifest of an export and the state of a watch are no events', async () => {
    const state = inHome('place.json');
    await at.run(['events', 'watch', '--state', state, '--until', 'now']);
    expect(await offline(['count', '--from', state])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${state} holds the state of a watch, not events\nnext: name what the watch has printed with --ndjson instead\n`,
    });
    const manifest = path.join(at.directory, 'manifest.json');
    expect(await offline(['search', '--ndjson', '--from', manifest])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${manifest} holds the manifest of an export, not events\nnext: name its directory instead\n`,
    });
  });

  test('a list of events in one object counts as one event, and a warning says so', async () => {
    for (const [name, text] of [
      ['data', '{"object": "list", "data": [ {"id": "evt_1"}, {"id": "evt_2"} ], "has_more": false}'],
      ['Records', '{"Records":[{"eventID":"1"}]}'],
    ]) {
      expect(await offline(['count', '--from', '-'], text)).toEqual({
        code: 0,
        stdout: '1\n',
        stderr: `warning: --from: standard input is one object with a list '${name}', and counts as one event: \`jq '.${name}[]' FILE\` takes the events out of it\n`,
      });
    }
    const events = '{"data":[{"a":1}]}\n{"data":[{"a":2}]}\n{"eventId":"1","data":[{}]}';
    expect((await offline(['count', '--from', '-'], events)).stderr).toBe('');
  });

  test('an unfinished export is a warning, and one with a missing file is an error', async () => {
    const directory = inHome('unfinished');
    await cp(at.directory, directory, { recursive: true });
    const manifest = path.join(directory, 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    const { parts, ...rest } = JSON.parse(text);
    await writeFile(manifest, JSON.stringify({ ...rest, finishedAt: null, parts }));
    expect((await offline(['count', '--from', directory])).stderr).toBe(
      `warning: the export in ${directory} is not finished: events are missing; the same \`hooktrail events export\` adds them\n`,
    );
    await writeFile(manifest, text);
    await rm(path.join(directory, parts[0].file));
    const { code, stderr } = await offline(['count', '--from', directory]);
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      `error: ${path.join(directory, parts[0].file)} is missing`,
    ]);
  });

  const damages: [string, (bytes: Buffer) => Buffer][] = [
    ['emptied', () => Buffer.alloc(0)],
    ['cut', (bytes) => bytes.subarray(0, bytes.length >> 1)],
    ['longer', (bytes) => Buffer.concat([bytes, Buffer.from('{}\n')])],
    [
      'changed in one bit',
      (bytes) => {
        const copy = Buffer.from(bytes);
        copy[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 4;
        return copy;
      },
    ],
  ];
  const commands = [
    ['search', '--ndjson', '--failed', '--exit-code'],
    ['search', '--ndjson', '-n', '1'],
    ['get', '0f8fad5b-d9cb-469f-a165-70867728950e'],
    ['count'],
    ['stats', '--since', '7d'],
    ['stats', '--by', 'eventType'],
    ['report', 'report.html'],
  ];
  test.each(damages)('a part that was %s is an error that names it, for every command', async (_, damage) => {
    for (const { gzip, place } of [
      { gzip: [], place: -1 },
      { gzip: ['--gzip'], place: 0 },
    ]) {
      await using exporting = await startExporting({ events: 200 });
      await exporting.export('--page-size', '5', ...gzip);
      const parts = await exporting.parts();
      expect(parts.length).toBeGreaterThan(2);
      const file = path.join(exporting.directory, parts.at(place) as string);
      await writeFile(file, damage(await readFile(file)));
      for (const [command = '', ...args] of commands) {
        const { code, stderr } = await offline([command, ...args, '--from', exporting.directory]);
        expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(`error: ${file} `)]);
      }
    }
  });
});

function indented(events: readonly string[]): string {
  return JSON.stringify(
    events.map((event) => JSON.parse(event)),
    null,
    2,
  );
}
