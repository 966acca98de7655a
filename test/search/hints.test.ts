import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';
import { inShape } from '../support/shape.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
const plain = async (searching: Started, args: string[], columns = 120) => {
  const env = { ...searching.env, NO_COLOR: '1' };
  const terminal = startHooktrail(['events', ...args], { env, terminal: columns });
  const { code } = await terminal.finished;
  return {
    code,
    screen: terminal.screen.replaceAll(new URL(searching.sandbox.settings.baseUrl).host, 'HOST'),
  };
};

describe('events search on a terminal', () => {
  test('offers the first failure in full, and what the failures have in common', async () => {
    await using searching = await startSearching({ events: 20 });
    const later = new Date(clock.now() + 1000).toISOString();
    const { eventId } = searching.control.addEvent({ publishStatus: 'FAILED', createdOn: later });
    searching.control.addEvent({ publishStatus: 'FAILED', createdOn: '2026-01-01' });
    const { screen } = await plain(searching, [
      'search',
      '--since',
      '9d',
      '--type',
      'document.signed',
      '--type',
      "it's",
    ]);
    expect(screen).not.toContain('hooktrail events get');
    const all = await plain(searching, ['search', '--after', '2026-01-01', '--failed']);
    expect(all.screen).toMatch(
      new RegExp(
        `\\nnext: hooktrail events get ${eventId} {2}# in full\\n` +
          'next: hooktrail events explain --since 2026-01-01 {2}# what failures have in common\\n$',
      ),
    );
  });

  test('suggests the nearest type if nothing matches one that the service does not list', async () => {
    await using searching = await startSearching({ events: 20 });
    const { screen } = await plain(searching, ['search', '--type', 'qqqq']);
    expect(screen).toBe(
      'no events match\n' +
        "searched HOST (profile 'default')\n" +
        "warning: 'qqqq' is not among the event types on offer; `hooktrail event-types` lists them\n",
    );
    const named = await searching.search('--type', 'q`q', '--profile', 'night');
    expect(named.stderr).toBe(
      "no events match\nwarning: 'q`q' is not among the event types on offer; `hooktrail event-types --profile night` lists them\n",
    );
    const known = await plain(searching, ['search', '--type', 'document.signed', '--before', '2020-01-01']);
    expect(known.screen).toBe(
      "no events match\nsearched events created before 2020-01-01, at HOST (profile 'default')\n",
    );
  });

  test.each(['search', 'count', 'stats', 'explain', 'health'])(
    'events %s names a type of several that is not on offer: the others hide that it finds nothing',
    async (command) => {
      await using searching = await startSearching({ events: 20 });
      const types = 'document.signed,docment.signed';
      const args = ['--since', '40d', '--type', types, '--marketplace', 'all'];
      const { code, stderr } = await searching.run(['events', command, ...args]);
      expect([code, stderr]).toEqual([
        0,
        "warning: 'docment.signed' is not among the event types on offer; did you mean document.signed?\n",
      ]);
    },
  );

  test.each(['search', 'count', 'stats', 'health'])(
    'events %s without a hit names a subscription that does not subscribe to the type',
    async (command) => {
      await using searching = await startSearching({ events: 0 });
      const { subscriptions, fault } = searching.control;
      const [first] = subscriptions?.active() ?? [];
      const id = first?.id ?? '5f2c6a10-3b1e-4f6e-9a55-0c7d8e9fa0b1';
      if (first) {
        const subscriptionRules = { ...first.content.subscriptionRules, eventTypes: ['document.signed'] };
        subscriptions?.replace(first, { ...first.content, subscriptionRules });
      }
      const filters = ['--since', '7d', '--subscription', id];
      const run = async (types: string) =>
        (await searching.run(['events', command, ...filters, '--type', types])).stderr;
      const warning = `warning: --subscription: hooks.harbour.example/in/… (${id}) does not subscribe to invoice.paid; \`hooktrail subscriptions get ${id}\` shows its types\n`;
      expect(await run('invoice.paid')).toContain(inShape({ published: warning, flat: '' }));
      expect(await run('document.signed,invoice.paid')).not.toContain('subscribe');
      fault('subscriptions', ...Array(5).fill({ kind: 'status', status: 403 }));
      expect(await run('invoice.paid')).not.toContain('subscribe');
    },
  );

  test.each(['explain', 'health', 'stats', 'stats --where a=1', 'stats --by a', 'report -'])(
    'events %s says how to look further back than its own day, where nothing is in it',
    async (command) => {
      await using searching = await startSearching({ events: 0 });
      const { eventId } = searching.control.addEvent({ publishStatus: 'FAILED', createdOn: '2026-01-01' });
      const args = [...command.split(' '), '--id', eventId];
      const hint = 'next: `--since 30d` looks further back than a day\n';
      expect((await plain(searching, args)).screen).toContain(hint);
      expect((await plain(searching, [...args, '--since', '7d'])).screen).not.toContain(hint);
    },
  );

  test.each([
    ['search --since 90m', 'next: `--since 1d` looks further back\n'],
    ['search --since 12h', 'next: `--since 1d` looks further back\n'],
    ['search --since 13h', 'next: `--since 7d` looks further back\n'],
    ['search --since 40d --grep zzz', 'next: `--since 90d` looks further back\n'],
    ['search --since 46d', 'next: without --since all events are searched\n'],
    ['search --since 46d --type document.sined', 'did you mean document.signed?\n'],
    ['search --since 2h --until 1h', "(profile 'default')\n"],
    ['search', "searched HOST (profile 'default')\n"],
    ['stats --since 2h', 'next: `--since 1d` looks further back\n'],
    ['stats --since 46d', 'at HOST\n'],
    ['stats --since 2h --until 1h', 'at HOST\n'],
    ['health --since 7d', 'next: `--since 30d` looks further back\n'],
    ['stats --until 1h', 'next: `--since 7d` looks further back\n'],
    ['stats --until 10d', 'next: `--since 30d` looks further back\n'],
    ['stats --until 30d', 'next: `--since 90d` looks further back\n'],
    ['stats --until 60d', 'at HOST\n'],
  ])('events %s says how to look further back where nothing is found, if that helps', async (line, last) => {
    await using searching = await startSearching({ events: 0 });
    const { code, screen } = await plain(searching, line.split(' '), 200);
    expect([code, screen.slice(screen.indexOf(last), screen.indexOf(last) + last.length)]).toEqual([0, last]);
    const hints = screen.match(/looks further|all events are/g) ?? [];
    expect(hints).toHaveLength(last.startsWith('next') ? 1 : 0);
  });

  test('says how many events were looked at by filters that run here', async () => {
    await using searching = await startSearching({ events: 0 });
    for (const createdOn of ['2026-11-20T11:00:00Z', '2026-11-20T10:00:00Z', '2026-11-01T10:00:00Z'])
      searching.control.addEvent({ createdOn });
    const since = ['--since', '2026-11-20', '--where', 'eventType = nope'];
    const searched = "2 events created after 2026-11-20, at HOST (profile 'default')\n";
    const { screen } = await plain(searching, ['search', ...since]);
    expect(screen).toBe(`no events match\nsearched ${searched}next: \`--since 1d\` looks further back\n`);
    expect((await plain(searching, ['count', ...since])).screen).toContain(`searched ${searched}`);
    const { screen: doubted } = await plain(searching, [
      'search',
      '--since',
      '2026-11-20',
      '--where',
      'evntType = a',
    ]);
    expect(doubted).toContain('did you mean eventType? (2 events looked at)\n');
    expect(doubted).not.toContain('looks further');
    expect((await plain(searching, ['search', '--grep', 'nope'])).screen).toBe(
      "no events match\nsearched 3 events at HOST (profile 'default')\n",
    );
    const { stdout: stored } = await searching.search('--ndjson');
    const read = { env: searching.env, stdin: stored, terminal: 100, tty: { stdin: false } };
    const { stderr } = await hooktrail(['events', 'search', '--grep', 'nope', '--from', '-'], read);
    expect(stderr).toMatch(/^no events match\nsearched 3 events of standard input\n$/m);
  });

  test('offers nothing with --quiet or in a pipe', async () => {
    await using searching = await startSearching({ events: 5 });
    searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    expect((await plain(searching, ['search', '--failed', '--quiet'])).screen).not.toContain('next:');
    const warning =
      "warning: 'x' is not among the event types on offer; `hooktrail event-types` lists them\n";
    expect((await plain(searching, ['search', '--type', 'x', '--quiet'])).screen).toBe(warning);
    expect((await searching.search('--failed')).stderr).toBe('');
    expect((await searching.search('--type', 'docment.signed')).stderr).toBe(
      "no events match\nwarning: 'docment.signed' is not among the event types on offer; did you mean document.signed?\n",
    );
  });

  test('a hint that is not available is not an error', async () => {
    await using searching = await startSearching({ events: 5 });
    searching.sandbox.control.fault(
      'event-types',
      { kind: 'status', status: 403 },
      { kind: 'status', status: 403 },
    );
    const result = await plain(searching, ['search', '--type', 'docment.signed']);
    expect(result).toEqual({ code: 0, screen: "no events match\nsearched HOST (profile 'default')\n" });
  });
});

describe('what was read, on a terminal', () => {
  test('is said with the bounds used, the local time beside them, the service and the profile', async () => {
    await using searching = await startSearching({ events: 5 });
    const machine = { ...thisMachine(), timezone: 'Europe/Berlin' };
    const said = async (args: string[], env = {}) => {
      const options = {
        env: { ...searching.env, NO_COLOR: '1', ...env },
        terminal: 200,
        context: { machine },
      };
      const { stderr } = await hooktrail(['events', ...args], options);
      return stderr.replaceAll(new URL(searching.sandbox.settings.baseUrl).host, 'HOST');
    };
    expect(await said(['count', '--since', '08:00'])).toBe(
      "counted events created after 2026-11-20T08:00:00Z (2026-11-20T09:00:00+01:00 here), at HOST (profile 'default')\n",
    );
    expect(await said(['count', '--since', '08:00', '--timezone', 'Europe/Berlin'])).toBe(
      "counted events created after 2026-11-20T08:00:00+01:00, at HOST (profile 'default')\n",
    );
    expect(await said(['count', '--grep', 'zzqq'])).toBe(
      'reading the events to count them: the service does not filter by --where, --grep and --marketplace\n' +
        "searched 5 events at HOST (profile 'default')\n",
    );
    expect(await said(['search', '--since', '2026-11-20', '--type', 'document.*', '-n', '1'])).toMatch(
      /^searched events created after 2026-11-20 \(2026-11-20T01:00:00\+01:00 here\), at HOST \(profile 'default'\)$/m,
    );
  });
});

test('a count that failed does not say that something was counted', async () => {
  await using searching = await startSearching({ events: 5 });
  searching.sandbox.control.fault('events', { kind: 'status', status: 403 });
  const { code, stderr } = await searching.run(['events', 'count'], { terminal: 200 });
  expect(code).toBe(1);
  expect(stderr).not.toContain('counted');
});

describe('events get on a terminal', () => {
  test('prints one event whole, with unchanged numbers and inert control characters', async () => {
    await using searching = await startSearching({ events: 5 });
    const eventId = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const json = `{"eventId":"${eventId}","n":9007199254740993,"d":[1.10],"s":"\\u001b[31m\u009b\u202e"}`;
    searching.sandbox.control.addEvent({ eventId, json });
    const { screen } = await plain(searching, ['get', eventId]);
    expect(screen).toBe(
      [
        '{',
        `  "eventId": "${eventId}",`,
        '  "n": 9007199254740993,',
        '  "d": [',
        '    1.10',
        '  ],',
        '  "s": "\\u001b[31m\\u009b\\u202e"',
        '}',
        '',
      ].join('\n'),
    );
    expect((await plain(searching, ['get', eventId, '-o', 'table'])).screen).toMatch(
      /^eventId *\n.*\n1 event\n$/,
    );
    expect((await plain(searching, ['get', eventId, eventId])).screen).toMatch(
      /^eventId *\n.*\n.*\n2 events\n$/,
    );
  });
});
