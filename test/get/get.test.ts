import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { hooktrail } from '../support/program.ts';
import type { Fault } from '../support/sandbox.ts';
import { idsOf, startSearching } from '../support/searching.ts';
import { inShape, itemOf, pathInEvent, pathOf } from '../support/shape.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
const get = (searching: Started, args: string[], stdin = '') =>
  searching.run(['events', 'get', ...args], { stdin });
const newest = (searching: Started, count: number) => searching.sandbox.control.store.newestIds(count);
const NONE = '00000000-0000-4000-8000-000000000000';

describe('events get', () => {
  test('requests each id separately and prints exact items in the order of the ids', async () => {
    await using searching = await startSearching({ events: 50 });
    const json =
      '{"eventId":"0F8FAD5B-D9CB-469F-A165-70867728950E","n":9007199254740993,"d":1.10,"e":1e400,"b":1,"b":2,"s":"\\u00e9 \\/"}';
    searching.control.addEvent({ eventId: '0f8fad5b-d9cb-469f-a165-70867728950e', json });
    const [a, b, c] = newest(searching, 3) as [string, string, string];
    const result = await get(searching, [c, b, a, '--ndjson']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(idsOf(result.stdout)[0]).toBe(c);
    expect(result.stdout.split('\n')[2]).toBe(json);
    expect(searching.queries().sort()).toEqual(
      [a, b, c].map((id) => `eq(eventId,${id})&limit(1,500)`).sort(),
    );
    const array = await get(searching, [c, b, a, '--json']);
    expect(array.stdout).toBe(`[\n${result.stdout.trimEnd().split('\n').join(',\n')}\n]\n`);
  });

  test('prints the records of all subscriptions that are asked for', async () => {
    await using searching = await startSearching({ events: 0 });
    const eventId = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const [one, other] = ['22284310-c2cd-4a3e-a9e8-1d7b8995da7f', 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da'];
    for (const subscriptionId of [one, other]) searching.control.addEvent({ eventId, subscriptionId });
    const args = ['--subscription', one, '--subscription', other, '--ndjson'];
    expect(idsOf((await get(searching, [eventId, ...args])).stdout)).toEqual([eventId, eventId]);
  });

  test('an id that is not found is named, the others are printed, and the exit code is 3', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const { code, stdout, stderr } = await get(searching, [a, NONE, b, '--ndjson']);
    expect(idsOf(stdout)).toEqual([a, b]);
    expect(stderr).toBe(
      `warning: the event ${NONE} was not found\n` +
        'next: another profile may know it (`hooktrail profiles` lists them); the service keeps events for a limited time\n',
    );
    expect(code).toBe(3);
    expect(await get(searching, [a, '--status', 'FAILED', '--since', '1s'])).toEqual({
      code: 3,
      stdout: '',
      stderr: `warning: the event ${a} was not found by these filters\nnext: without the filters it may be found\n`,
    });
    // A table of nothing says nothing more.
    expect(await get(searching, [NONE])).toEqual({ code: 3, stdout: '', stderr });
    expect(await get(searching, [NONE, '--json', '--quiet'])).toEqual({
      code: 3,
      stdout: '[]\n',
      stderr,
    });
  });

  test.each([1, 4, 16])('keeps the order of many ids with --concurrency %i', async (concurrency) => {
    await using searching = await startSearching({ events: 100 });
    const slow = (ms: number): Fault => ({ kind: 'slow', ms });
    searching.sandbox.control.fault('events', slow(300), slow(10), slow(100), slow(1), slow(200));
    const ids = newest(searching, 60).toReversed();
    const args = ['-', '--ndjson', '--concurrency', `${concurrency}`];
    const { code, stdout } = await get(searching, args, ids.join('\n'));
    expect(idsOf(stdout)).toEqual(ids);
    expect(code).toBe(0);
  });

  test('ids on standard input may have blank lines, CR LF, a mark at the start, and may repeat', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const { code, stdout } = await get(searching, ['-', '--ndjson'], `\ufeff${a}\r\n\r\n  ${b} \n\n${a}`);
    expect(idsOf(stdout)).toEqual([a, b, a]);
    expect(code).toBe(0);
  });

  const FORMATS = [
    [],
    ['--fields', 'eventId'],
    ['--fields', 'subscriptionId,eventType,eventId'],
    ['--csv'],
    ['--no-header'],
    ['--no-header', '--timezone', 'Asia/Tokyo'],
    ['--csv', '--no-header'],
    ['--csv', '--fields', `${pathOf('resource.name')},subscriptionId,eventId`],
    ['--csv', '--fields', `eventId,${pathOf('resource.name')}`],
    ['--ndjson'],
    ['--json'],
    ['--csv', '--fields', `subscriptionId,${pathInEvent('eventId')}`],
    ['--ndjson', '--fields', `subscriptionId,${pathInEvent('eventId')}`],
    ['--jq', '.'],
    ['--jq', `.[].${pathInEvent('eventId')}`],
    ['--jq', `[.[].${pathInEvent('eventId')}]`],
    ['--jq', `.[] | "{\\(.${pathInEvent('eventId')})}"`],
  ];
  test.each(FORMATS.map((format) => [format]))(
    'finds the ids in what search prints with %j',
    async (format) => {
      await using searching = await startSearching({ events: 40 });
      const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
      const item = {
        eventId: id,
        subscriptionId: NONE,
        eventType: 'a.b',
        createdOn: new Date(clock.now() + 500).toISOString(),
      };
      // A cell of CSV with line feeds, of which one line could be a row.
      const name = format.includes('--no-header') ? 'a "b", 合同, 2nd' : `a "b",\n${NONE}\n\n"",c, 合同, 2nd`;
      searching.sandbox.control.addEvent({
        eventId: id,
        json: JSON.stringify(
          itemOf({ ...item, ...inShape({ flat: { resource: { name } }, published: { body: { name } } }) }),
        ),
      });
      const ids = newest(searching, 20);
      const { code, stdout } = await searching.search('-n', '20', ...format);
      expect(code).toBe(0);
      const result = await get(searching, ['-', '--ndjson'], stdout);
      expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({ code: 0, stderr: '', stdout: ids });
    },
  );

  test.each([';', '\t'])(
    'finds the ids in what a spreadsheet saves with %j between cells',
    async (separator) => {
      await using searching = await startSearching({ events: 5 });
      const ids = newest(searching, 2);
      const rows = [['subscriptionId', 'amount', 'eventId'], ...ids.map((id) => [NONE, '"1,5\n"', id])];
      const typed = rows.map((cells) => `${cells.join(separator)}\r\n`).join('');
      const result = await get(searching, ['-', '--ndjson'], typed);
      expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({ code: 0, stderr: '', stdout: ids });
    },
  );

  test('finds the ids in a dump of a database, by the name of its column', async () => {
    await using searching = await startSearching({ events: 5 });
    const ids = newest(searching, 2);
    const rows = [['parent_id', 'size', 'event_id'], ...ids.map((id) => [NONE, '5" wide', id])];
    const typed = rows.map((cells) => `${cells.join(',')}\n`).join('');
    const result = await get(searching, ['--ndjson'], typed);
    expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({ code: 0, stderr: '', stdout: ids });
  });

  test('CSV that is cut off within a cell is an error', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const result = await get(searching, ['--ndjson'], `eventId,error\n${a},down\n${b},"first\n`);
    expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({
      code: 2,
      stdout: [a],
      stderr: 'error: standard input, line 3: the CSV ends within a cell\n',
    });
  });

  test('finds the id behind a cell of very many lines', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const lines = 'at the next line of a long text\n'.repeat(100_000);
    const result = await get(
      searching,
      ['--ndjson'],
      `eventId,error\n${a},"${lines}"\n${b},"first\n\nlast"\n`,
    );
    expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({ code: 0, stdout: [a, b], stderr: '' });
  });

  test('finds the ids in an indented event, and in a table of groups', async () => {
    await using searching = await startSearching({ events: 40 });
    const [a] = newest(searching, 1) as [string];
    const shown = await hooktrail(['events', 'get', a], {
      env: { ...searching.env, NO_COLOR: '1' },
      terminal: 80,
    });
    expect(idsOf((await get(searching, ['--ndjson'], shown.stdout)).stdout)).toEqual([a]);
    const groups = await searching.run(['events', 'stats', '--since', '40d', '--by', 'publishStatus']);
    const examples = await get(searching, ['--ndjson'], groups.stdout);
    expect(examples.code).toBe(0);
    expect(idsOf(examples.stdout)).toHaveLength(2);
  });

  test('finds the ids in indented JSON, whatever ids are inside the events', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const events = [a, b].map((eventId) => itemOf({ eventId, related: [{ eventId: NONE }], ids: [NONE] }));
    const indented = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
    const hits = events.map((item) => ({ profile: 'default', field: 'eventId', item }));
    for (const stdin of [
      indented(events),
      events.map(indented).join(''),
      `[${events.map((event) => JSON.stringify(event)).join(',\n')}]\n`,
      indented({ count: 2, items: events }),
      indented(hits),
      hits.map((hit) => `${JSON.stringify(hit)}\n`).join(''),
      indented({ total: 2, groups: [a, b].map((example) => ({ by: {}, example })) }),
    ]) {
      const result = await get(searching, ['-', '--ndjson'], stdin);
      expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({ code: 0, stderr: '', stdout: [a, b] });
    }
  });

  test('JSON that cannot be read, or has no end, is an error, and no shorter list', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a] = newest(searching, 1) as [string];
    const first = `{"eventId":"${a}"}\n`;
    for (const [stdin, fault] of [
      [`${first}${a}\n`, 'line 2: it is not a JSON object'],
      [`${first}{\n  "eventId": "${a}",\n}\n`, 'line 2: it is not JSON'],
      [`${first}{\n  "eventId": "${a}"\n`, 'line 2: it is cut off'],
    ] as const) {
      const result = await get(searching, ['-', '--ndjson'], stdin);
      expect({ ...result, stdout: idsOf(result.stdout) }).toEqual({
        code: 2,
        stdout: [a],
        stderr: `error: standard input, ${fault}\nnext: give one event id a line, or the output of events search\n`,
      });
    }
  });

  test('-o markdown shows each event whole, as a block of JSON below the table', async () => {
    await using searching = await startSearching({ events: 5 });
    const control = searching.sandbox.control;
    const json = (id: string) =>
      `{"eventId":"${id}","eventType":"a","n":9007199254740993.10,"text":"\`\`\`\\n\u009b2J|${NONE}|${NONE}|${NONE}|","list":[1,{"x":null}]}`;
    const ids = ['1', '2'].map((digit) => NONE.replaceAll('0', digit));
    for (const eventId of ids) control.addEvent({ eventId, json: json(eventId) });
    const { code, stdout } = await get(searching, [...ids, '-o', 'markdown']);
    expect(code).toBe(0);
    const blocks = [...stdout.matchAll(/\n\n```json\n(.*?)\n```(?=\n)/gs)].map(([, text = '']) => text);
    expect(blocks).toEqual(
      ids.map((id) =>
        [
          '{',
          `  "eventId": "${id}",`,
          '  "eventType": "a",',
          '  "n": 9007199254740993.10,',
          `  "text": "\`\`\`\\n\\u009b2J|${NONE}|${NONE}|${NONE}|",`,
          '  "list": [',
          '    1,',
          '    {',
          '      "x": null',
          '    }',
          '  ]',
          '}',
        ].join('\n'),
      ),
    );
    expect(stdout).toMatch(
      /^\| eventType \| eventId \|.*\n\*2 events; 127\.0\.0\.1:\d+: `hooktrail events get [^`]*`\*\n$/s,
    );
    // The blocks may hold any ids.
    expect(await get(searching, ['--ndjson'], stdout)).toMatchObject({ code: 2, stdout: '' });
    const fields = await get(searching, [...ids, '-o', 'markdown', '--fields', 'eventType']);
    expect(fields.stdout).not.toContain('json');
  });

  test('takes ids with commas, and with --id', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b, c] = newest(searching, 3) as [string, string, string];
    expect(idsOf((await get(searching, [`${a},${b}`, '--id', c, '--ndjson'])).stdout)).toEqual([a, b, c]);
    expect(idsOf((await get(searching, ['--id', `${a},${b}`, '--ndjson'])).stdout)).toEqual([a, b]);
  });

  test('answers each line as it arrives, before standard input ends', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a, b] = newest(searching, 2) as [string, string];
    const program = searching.start(['events', 'get', '-', '--ndjson'], { stdin: null });
    program.stdin.write(`${a}\n`);
    await program.printed('stdout', new RegExp(`"${a}".*\n`));
    program.stdin.write(`${b}\n`);
    await program.printed('stdout', new RegExp(`"${b}".*\n`));
    program.stdin.end();
    expect((await program.finished).code).toBe(0);
  });

  test('a signal ends it while it waits for lines', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = searching.start(['events', 'get', '-', '--json'], { stdin: null });
    program.stdin.write(`${newest(searching, 1)[0]}\n`);
    await program.printed('stdout', /\{.*\}/);
    program.kill('SIGINT');
    const { code, stdout } = await program.finished;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toHaveLength(1);
  });

  test('an error ends it while it waits for lines', async () => {
    await using searching = await startSearching({ events: 5 });
    searching.sandbox.control.fault('events', { kind: 'status', status: 403 });
    const program = searching.start(['events', 'get', '-', '--json'], { stdin: null });
    program.stdin.write(`${NONE}\n`);
    expect((await program.finished).code).toBe(1);
  });

  test('a bad line is named by its number, after the events of the lines before it', async () => {
    await using searching = await startSearching({ events: 5 });
    const [a] = newest(searching, 1) as [string];
    for (const format of ['--ndjson', '--json', '--csv']) {
      const { code, stdout, stderr } = await get(searching, ['-', format], `${a}\n\nnonsense\n${a}\n`);
      expect(stdout.split(a)).toHaveLength(2);
      expect(stderr).toContain("error: standard input, line 3: 'nonsense' is not a GUID");
      expect(code).toBe(2);
    }
  });

  test('a bad line ends it even if the input stays open', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = searching.start(['events', 'get', '-'], { stdin: null });
    program.stdin.write('nonsense\n');
    expect((await program.finished).code).toBe(2);
  });

  test('does not read further ahead than it requests', async () => {
    await using searching = await startSearching({ events: 5, latencyMs: 50 });
    const [a] = newest(searching, 1) as [string];
    const lines = `${a}\n`.repeat(2000);
    const program = searching.start(['events', 'get', '-', '--ndjson'], { stdin: lines });
    await program.printed('stdout', /\n/);
    program.closeStdout();
    expect((await program.finished).code).toBe(0);
    expect(searching.queries().length).toBeLessThan(100);
  });

  test('prints a table in a pipe, with the columns of all events', async () => {
    await using searching = await startSearching({ events: 5 });
    const second = '0f8fad5b-d9cb-469f-a165-70867728950e';
    searching.control.addEvent({ eventId: second, json: `{"eventId":"${second}","extra":"x,y"}` });
    const [, first] = newest(searching, 2) as [string, string];
    const table = await get(searching, [first, second]);
    expect(table.stdout.split('\n')[0]).toMatch(
      /^createdOn +publishStatus +eventType +eventId +subscriptionId( +address| +error)*$/,
    );
    expect(table.stdout.split('\n')).toHaveLength(4);
    const csv = await get(searching, [first, second, '--csv']);
    expect(csv.stdout.split('\r\n')[0]).toMatch(/,extra$/);
    expect(csv.stderr).toBe('');
  });

  test('filters exclude events', async () => {
    await using searching = await startSearching({ events: 5 });
    const { eventId } = searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    expect((await get(searching, [eventId, '--status', 'SUCCESS', '--ndjson'])).code).toBe(3);
    expect((await get(searching, [eventId, '--status', 'SUCCESS', '--failed', '--ndjson'])).code).toBe(0);
  });

  test('without arguments the ids come from standard input', async () => {
    await using searching = await startSearching({ events: 5 });
    const ids = newest(searching, 2).join('\n');
    expect(await get(searching, ['--ndjson'], ids)).toEqual(await get(searching, ['-', '--ndjson'], ids));
  });
});
