import { describe, expect, inject, test } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { run, start } from '../../support/program.ts';
import { idsOf, startSearching } from '../../support/searching.ts';

const lines = (...args: string[]) => ['--ndjson', ...args];
/** Does something while the n-th page is asked for. */
const atPage = (n: number, work: () => unknown): Fault[] => [
  ...Array.from({ length: n - 1 }, (): Fault => ({ kind: 'pass' })),
  { kind: 'run', run: work },
];

describe('a search of many pages', () => {
  test.each([1, 4, 16])('prints every event once, in order, with --concurrency %i', async (concurrency) => {
    await using searching = await startSearching({ events: 1234 });
    const { code, stdout, stderr } = await searching.search(
      ...lines('--page-size', '50', '--concurrency', `${concurrency}`),
    );
    expect(stderr).toBe('');
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(1234));
    expect(code).toBe(0);
    expect(searching.queries()).toHaveLength(25);
  });

  test('passes every byte of every item through, also of pretty-printed pages', async () => {
    await using searching = await startSearching({ events: 120 });
    const json =
      '{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950e","n":9007199254740993,"d":1.10,"e":1e400,"b":1,"b":2,"s":"\\u00e9 \\/"}';
    searching.sandbox.control.addEvent({ eventId: '0f8fad5b-d9cb-469f-a165-70867728950e', json });
    const compact = await searching.search(...lines('--page-size', '50'));
    expect(compact.stdout.split('\n')[0]).toBe(json);
    searching.sandbox.control.behaviour.pretty = true;
    const pretty = await searching.search(...lines('--page-size', '50'));
    expect(pretty.stdout).toBe(compact.stdout);
    const array = await searching.search('--json');
    expect(array.stdout).toBe(`[\n${compact.stdout.trimEnd().split('\n').join(',\n')}\n]\n`);
  });

  test('--limit keeps the page size and cuts the last page', async () => {
    await using searching = await startSearching();
    const { stdout } = await searching.search(...lines('--limit', '7', '--page-size', '3'));
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(7));
    expect(
      searching
        .queries()
        .map((query) => query.match(/limit.*/)?.[0])
        .sort(),
    ).toEqual(['limit(1,3)', 'limit(4,3)', 'limit(7,3)']);
  });

  test('pages after the first are held to the second after the first answer; --before holds them itself', async () => {
    await using searching = await startSearching({ events: 30 });
    await searching.search(...lines('--page-size', '10'));
    const [first, ...rest] = searching.queries();
    expect(first).toBe('limit(1,10)');
    expect(rest).toHaveLength(2);
    const answered = searching.sandbox.log.find(({ url }) => url.includes('limit(1,10)'))?.at as number;
    for (const query of rest) {
      const pin = Date.parse(query.match(/^lt\(createdOn,([^)]*Z)\)&limit\(/)?.[1] ?? '');
      expect(pin % 1000).toBe(0);
      expect(pin).toBeGreaterThan(answered);
      expect(pin).toBeLessThanOrEqual(answered + 2000);
    }
    await searching.search(...lines('--page-size', '10', '--before', '2100-01-01'));
    expect(searching.queries().slice(3)).toEqual([
      'lt(createdOn,2100-01-01)&limit(1,10)',
      'lt(createdOn,2100-01-01)&limit(11,10)',
      'lt(createdOn,2100-01-01)&limit(21,10)',
    ]);
  });

  test('a reader that leaves early is no failure', async () => {
    await using searching = await startSearching({ events: 20_000 });
    const program = start(['events', 'search', '--ndjson', '--page-size', '10'], { env: searching.env });
    await program.printed('stdout', /\n/);
    program.closeStdout();
    expect((await program.finished).code).toBe(0);
    expect(searching.queries().length).toBeLessThan(2000);
  });

  test('a signal ends it with 130 or 143', async () => {
    await using searching = await startSearching({ events: 5000, latencyMs: 100 });
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const program = start(['events', 'search', '--ndjson', '--page-size', '10'], { env: searching.env });
      await program.printed('stdout', /\n/);
      program.kill(signal);
      expect((await program.finished).code).toBe(code);
    }
  });
});

describe('a result that moves while it is read', () => {
  test('events that arrive between pages neither shift nor double anything', async () => {
    await using searching = await startSearching({ events: 100 });
    const { control } = searching.sandbox;
    const before = control.store.newestIds(100);
    control.fault('events', ...atPage(2, () => control.addEvent()), ...atPage(3, () => control.addEvent()));
    const { code, stdout } = await searching.search(...lines('--page-size', '10', '--concurrency', '1'));
    expect(idsOf(stdout)).toEqual(before);
    expect(code).toBe(0);
  });

  test.each([1, 4])(
    'a FAILED event that turns SUCCESS hides no other, with --concurrency %i',
    async (concurrency) => {
      await using searching = await startSearching({ events: 1000 });
      const { control } = searching.sandbox;
      const ids = idsOf((await searching.search(...lines('--failed'))).stdout);
      expect(ids.length).toBeGreaterThan(20);
      // One that was printed already, and one that is still to come.
      control.fault(
        'events',
        ...atPage(3, () => {
          control.setStatus(ids[1] as string, 'SUCCESS');
          control.setStatus(ids.at(-1) as string, 'SUCCESS');
        }),
      );
      const { code, stdout } = await searching.search(
        ...lines('--failed', '--page-size', '4', '--concurrency', `${concurrency}`),
      );
      expect(idsOf(stdout)).toEqual(ids.slice(0, -1));
      expect([0, 1]).toContain(code);
    },
  );

  test('a service that counts more than it gives is reported, with everything it gave', async () => {
    await using searching = await startSearching({ events: 100 });
    const edit: Fault = {
      kind: 'edit',
      edit: (answer) => ({
        ...answer,
        body: Buffer.from(answer.body.toString().replace('"count":100', '"count":103')),
      }),
    };
    searching.sandbox.control.fault('events', ...Array.from({ length: 100 }, () => edit));
    const { code, stdout, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(code).toBe(1);
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(100));
    expect(stderr).toContain(
      'error: the result is not complete: 100 events were read, the service counts 103\n',
    );
  });
});

describe('what the service leaves open', () => {
  test.each(['absolute', 'relative', 'query-only'] as const)(
    '%s links are followed where there is no count',
    async (links) => {
      await using searching = await startSearching({ events: 95 });
      const { control } = searching.sandbox;
      Object.assign(control.behaviour, { links, omit: ['count'] });
      const { code, stdout } = await searching.search(...lines('--page-size', '10'));
      expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
      expect(code).toBe(0);
      expect(
        searching
          .queries()
          .slice(1)
          .every((query) => query.startsWith('lt(createdOn,')),
      ).toBe(true);
    },
  );

  test('pages smaller than asked are followed by their links', async () => {
    await using searching = await startSearching({ events: 95 });
    const { control } = searching.sandbox;
    control.behaviour.maxPageSize = 7;
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
    expect(code).toBe(0);
  });

  test.each([[['next', 'previous', 'first', 'count']], [['next']], [['href', 'limit', 'count']]] as const)(
    'answers without %j are read to the end',
    async (omit) => {
      await using searching = await startSearching({ events: 95 });
      const { control } = searching.sandbox;
      control.behaviour.omit = omit;
      const { code, stdout } = await searching.search(...lines('--page-size', '10'));
      expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
      expect(code).toBe(0);
    },
  );

  test.each([
    ['other-origin', 'leads away from'],
    ['user-info', 'holds a user name or password'],
    ['loop', 'lead in a circle'],
    ['same-page', 'lead in a circle'],
  ] as const)('a link of the kind %s ends in an error before it is followed', async (links, message) => {
    await using searching = await startSearching({ events: 95 });
    searching.sandbox.control.behaviour.links = links;
    const counted = await searching.search(...lines('--page-size', '10'));
    expect(counted.stderr).toContain(message);
    expect(counted.code).toBe(1);
  });

  test.each([
    ['other-origin', 'leads away from'],
    ['user-info', 'holds a user name or password'],
    ['loop', 'lead in a circle'],
    ['same-page', 'lead in a circle'],
  ] as const)('without a count, a link of the kind %s does too', async (links, message) => {
    await using searching = await startSearching({ events: 95 });
    Object.assign(searching.sandbox.control.behaviour, { links, omit: ['count'] });
    const { code, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(stderr).toContain(message);
    expect(code).toBe(1);
    expect(searching.queries().length).toBeLessThanOrEqual(2);
  });
});

describe('a service that does not page', () => {
  test('is told apart from one that has the same events again and again', async () => {
    await using searching = await startSearching({ events: 30 });
    let page: Buffer | undefined;
    const edit: Fault = {
      kind: 'edit',
      edit: (answer) => {
        page ??= Buffer.from(answer.body.toString().replace(/"next":"[^"]*"/, '"next":null'));
        return { ...answer, body: page };
      },
    };
    searching.sandbox.control.fault('events', ...Array.from({ length: 10 }, () => edit));
    const { code, stdout, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(stderr).toBe(
      'error: the service answered the same page twice: the result cannot be read to its end\n',
    );
    expect(code).toBe(1);
    expect(idsOf(stdout)).toHaveLength(10);
  });
});

/** Answers of a service of 57 events whose order the test controls; `list` is asked anew for each page. */
function answering(list: (page: number) => string[], more: (start: number, total: number) => object): Fault {
  let page = 0;
  return {
    kind: 'edit',
    edit: (answer) => {
      const ids = list(page++);
      const start = Number(/"href":"[^"]*limit\((\d+),/.exec(answer.body.toString())?.[1]);
      const items = ids.slice(start - 1, start + 9).map((eventId) => ({ eventId }));
      return { ...answer, body: Buffer.from(JSON.stringify({ ...more(start, ids.length), items })) };
    },
  };
}

describe('a result that moves while its count stays', () => {
  const ids = Array.from({ length: 57 }, (_, index) => `event-${index}`);
  const moved = ['new', ...ids.filter((id) => id !== 'event-54')];

  test('each event is printed once, those that joined too', async () => {
    await using searching = await startSearching({ events: 57 });
    const fault = answering(
      (page) => (page < 2 ? ids : moved),
      (_, count) => ({ count }),
    );
    searching.sandbox.control.fault('events', ...Array.from({ length: 40 }, () => fault));
    const { code, stdout } = await searching.search(...lines('--page-size', '10', '--concurrency', '1'));
    expect(idsOf(stdout).sort()).toEqual([...moved].sort());
    expect(code).toBe(0);
  });

  test('pages that overlap for good end in the honest error, and print nothing twice', async () => {
    await using searching = await startSearching({ events: 57 });
    const overlapping = ids.map((id, index) =>
      index > 0 && index % 10 === 0 ? (ids[index - 1] as string) : id,
    );
    const fault = answering(
      () => overlapping,
      (_, count) => ({ count }),
    );
    searching.sandbox.control.fault('events', ...Array.from({ length: 40 }, () => fault));
    const { code, stdout, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(idsOf(stdout)).toEqual([...new Set(overlapping)]);
    expect(stderr).toContain(
      'error: the result is not complete: 52 events were read, the service counts 57\n',
    );
    expect(code).toBe(1);
  });

  test('without a count, what could not be checked is said', async () => {
    await using searching = await startSearching({ events: 57 });
    searching.sandbox.control.behaviour.omit = ['count'];
    const { code, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(stderr).toBe(
      'warning: the service does not count its events: whether these are all of them could not be checked\n',
    );
    expect(code).toBe(0);
  });

  test('a count of the page alone is no count of the result, on the last page either', async () => {
    await using searching = await startSearching({ events: 57 });
    const fault: Fault = {
      kind: 'edit',
      edit: (answer) => {
        const page = JSON.parse(answer.body.toString());
        return { ...answer, body: Buffer.from(JSON.stringify({ ...page, count: page.items.length })) };
      },
    };
    searching.sandbox.control.fault('events', ...Array.from({ length: 20 }, () => fault));
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(57));
    expect(code).toBe(0);
    expect(searching.queries()).toHaveLength(6);
  });

  test('a service of small pages that tells only its limit is read to the end', async () => {
    await using searching = await startSearching({ events: 57 });
    const fault = answering(
      () => ids,
      () => ({ limit: 10 }),
    );
    searching.sandbox.control.fault('events', ...Array.from({ length: 20 }, () => fault));
    const { code, stdout } = await searching.search(...lines('--page-size', '20'));
    expect(idsOf(stdout)).toEqual(ids);
    expect(code).toBe(0);
  });
});

describe('faults of the service', () => {
  const faults: [string, Fault[]][] = [
    ['429 with Retry-After', [{ kind: 'status', status: 429, headers: { 'retry-after': '1' } }]],
    ['429 without', [{ kind: 'status', status: 429 }]],
    ['500, 502 and 503 in a row', [500, 502, 503].map((status) => ({ kind: 'status', status }) as const)],
    ['504', [{ kind: 'status', status: 504 }]],
    ['a connection that breaks', [{ kind: 'reset' }]],
    ['a connection that breaks in mid-body', [{ kind: 'reset-mid-body' }]],
    ['a body that ends early', [{ kind: 'close-mid-body' }]],
    ['JSON cut short', [{ kind: 'truncate' }]],
    ['a slow trickle', [{ kind: 'trickle', bytes: 500, everyMs: 5 }]],
  ];
  test.each(faults)('%s loses nothing and doubles nothing', async (_name, chain) => {
    await using searching = await startSearching({ events: 60 });
    const { control } = searching.sandbox;
    control.fault('events', { kind: 'pass' }, { kind: 'pass' }, ...chain);
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(control.pendingFaults).toBe(0);
    expect(idsOf(stdout)).toEqual(control.store.newestIds(60));
    expect(code).toBe(0);
  });

  test('an error that stays is told with what the service says, and what was read is printed', async () => {
    await using searching = await startSearching({ events: 60 });
    const body = JSON.stringify({
      code: 'event.invalid',
      message: 'No such thing',
      property: 'limit',
      properties: { seen: '11' },
    });
    searching.sandbox.control.fault(
      'events',
      { kind: 'pass' },
      ...Array.from({ length: 9 }, () => ({ kind: 'status', status: 400, body }) as const),
    );
    const { code, stdout, stderr } = await searching.search(
      ...lines('--page-size', '10', '--concurrency', '1'),
    );
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(10));
    expect(stderr).toBe(
      'error: the search failed: the service answered 400 Bad Request\n' +
        '  code: event.invalid\n  message: No such thing\n  property: limit\n  properties:\n    seen: 11\n',
    );
    expect(code).toBe(1);
  });

  test('a redirect is not followed with the token', async () => {
    await using searching = await startSearching({ events: 10 });
    await using elsewhere = await startSearching({ events: 10 });
    const location = `${elsewhere.sandbox.settings.baseUrl}/integrator-events`;
    searching.sandbox.control.fault('events', { kind: 'status', status: 307, headers: { location } });
    const { code, stderr } = await searching.search();
    expect(stderr).toContain('redirects are not followed with the token');
    expect(code).toBe(1);
    expect(elsewhere.queries()).toEqual([]);
  });

  test('a service that is not there is exit code 5', async () => {
    await using searching = await startSearching({ events: 1 });
    await searching.sandbox.close();
    const { code, stderr } = await searching.search('--quiet');
    expect(stderr).toMatch(
      /^error: the service could not be reached: .* does not accept connections \(ECONNREFUSED\)\n/,
    );
    expect(code).toBe(5);
  });

  test('a rejected token from the environment is exit code 4', async () => {
    await using searching = await startSearching({ events: 1 });
    const env = { ...searching.env, HOOKTRAIL_ACCESS_TOKEN: 'nonsense' };
    const { code, stderr } = await run(['events', 'search'], { env });
    expect(stderr).toMatch(/^error: the search failed: the service answered 401 Unauthorized\n/);
    expect(stderr).not.toContain('nonsense');
    expect(code).toBe(4);
  });
});

describe('an answer that is no collection', () => {
  test('is an error with what it says, although its status is 200', async () => {
    await using searching = await startSearching({ events: 1 });
    const body = '{"code":"event.broken","message":"try later"}';
    searching.sandbox.control.fault('events', { kind: 'status', status: 200, body });
    expect(await searching.search('--json')).toEqual({
      code: 1,
      stdout: '[]\n',
      stderr:
        'error: the service answered with something that is not a collection\n' +
        '  code: event.broken\n  message: try later\n',
    });
  });
});

test('output that cannot be written is an error, other than a reader that left', async () => {
  await using searching = await startSearching({ events: 1000 });
  const result = await run(
    ['-c', '"$0" "$1" events search --ndjson > /dev/full', process.execPath, inject('program')],
    {
      env: searching.env,
      file: 'sh',
    },
  );
  expect(result.stderr).toMatch(
    /^error: the output cannot be written: ENOSPC.*\nnext: make room where the output goes\n$/,
  );
  expect(result.code).toBe(1);
});

describe('the exit code', () => {
  test('with --exit-code is 10 when anything matches, 0 when nothing does', async () => {
    await using searching = await startSearching({ events: 200 });
    expect((await searching.search('--failed', '--exit-code')).code).toBe(10);
    const none = await searching.search('--type', 'no.such.type', '--exit-code', '--json');
    expect(none).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});
