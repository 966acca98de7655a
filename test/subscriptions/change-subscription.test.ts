import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { ID, SECRET, startChanging, WRITTEN } from './changing-service.ts';

const at = forEachTest(startChanging);
const GONE = '33333333-3333-4333-8333-333333333333';

describe('update', () => {
  test('writes the whole object back under the ETag, every other byte as it was', async () => {
    const { code, stdout, stderr } = await at.run([
      ...['update', ID, '--url', 'https://hooks.example.com/next', '--add-type', 'ORDER.shipped', '--yes'],
    ]);
    expect([code, stdout]).toEqual([0, '']);
    const [put] = at.sent('PUT');
    expect(put?.headers).toMatchObject({
      'if-match': '"v1"',
      'content-type': 'application/vnd.example.v1+json',
    });
    expect(put?.body).toBe(
      WRITTEN.replace(/"https:[^"]*\/in\/[^"]*"/, '"https://hooks.example.com/next"').replace(
        '["order.created", "order.paid"]',
        '["order.created","order.paid","order.shipped"]',
      ),
    );
    expect(stderr).toContain('callbackUrl: hooks.example.com/in/… → hooks.example.com/next');
    expect(stderr).toContain('  + order.shipped');
    expect(stderr).not.toContain(SECRET);
  });

  test('a pattern stands for the types on offer, and says that later ones are not subscribed', async () => {
    const { stderr } = await at.run(['update', ID, '--add-type', '*.s*', '--yes']);
    expect(stderr).toContain('2 types; types offered later are not included');
    expect(at.sent('PUT')[0]?.body).toContain(
      '["order.created","order.paid","order.shipped","invoice.sent"]',
    );
  });

  test('types and marketplaces are taken away, and never the last', async () => {
    const { code } = await at.run([
      ...[
        'update',
        ID,
        '--remove-type',
        'order.p*',
        '--add-marketplace',
        '7',
        '--remove-marketplace',
        '2001',
      ],
      '--yes',
    ]);
    expect(code).toBe(0);
    expect(at.sent('PUT')[0]?.body).toBe(
      WRITTEN.replace('"marketplaces":["2001"]', '"marketplaces":["7"]').replace(', "order.paid"', ''),
    );
    const none = await at.run(['update', ID, '--remove-type', '*', '--yes']);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining(
        `error: --remove-type: no event type would be left\nnext: \`hooktrail subscriptions disable ${ID}\` stops the deliveries\n`,
      ),
    ]);
    const absent = await at.run(['update', ID, '--remove-type', 'nothing.like.it', '--yes']);
    expect(absent.stderr).toContain(`next: \`hooktrail subscriptions get ${ID}\` shows what it has\n`);
    const nowhere = await at.run(['update', ID, '--remove-marketplace', '7', '--yes']);
    expect([nowhere.code, nowhere.stderr]).toEqual([
      2,
      expect.stringContaining('no marketplace would be left'),
    ]);
    expect(at.sent('PUT')).toHaveLength(1);
  });

  test('marketplaces that are numbers stay numbers, and one list more does not change another', async () => {
    at.kept.text = `{"isEnabled":false,"subscriptionRules":{"marketplaces":[2001,3.0],"eventTypes":["order.paid"]}}`;
    await at.run(['update', ID, '--add-marketplace', '2002', '--yes']);
    expect(at.kept.text).toBe(
      `{"isEnabled":false,"subscriptionRules":{"marketplaces":[2001,3.0,2002],"eventTypes":["order.paid"]}}`,
    );
  });

  test.each([
    [['--add-type', 'order.creted'], "no event type on offer is 'order.creted'", 'order.created'],
    [['--add-type', 'shop.*'], "no event type on offer is 'shop.*'", 'event-types'],
    [['--add-type', 'ordr.*'], "no event type on offer is 'ordr.*'", `update ${ID} --add-type 'order.*'\n`],
    [['--type', 'order.paid'], "unknown option '--type'", `update ${ID} --add-type order.paid\n`],
    [['--marketplace', '7'], "unknown option '--marketplace'", `update ${ID} --add-marketplace 7\n`],
    [
      ['--remove-type', 'order.shiped'],
      "no event type of this subscription is 'order.shiped'",
      'subscriptions',
    ],
    [['--remove-marketplace', '2002'], "the subscription has no '2002'", '2001'],
    [['--url', 'hooks.example.com'], "--url: invalid value 'hooks.example.com'", 'https://'],
    [['--url', 'ftp://hooks.example.com'], "--url: invalid value 'ftp://hooks.example.com'", 'https://'],
    [['--add-type', ','], 'a name is missing', ''],
    [[], 'nothing to change: no flag is given', '--url'],
  ])('%j is an error of the command line, and writes nothing', async (flags, problem, next) => {
    const { code, stderr } = await at.run(['update', ID, ...flags, '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    expect(stderr).toContain(next);
    expect(at.sent('PUT')).toEqual([]);
  });

  test.each([
    ['http://hooks.example.com/in', 'is not https'],
    ['http://localhost:3000/in', "is this machine's own address"],
    ['https://127.0.0.1/in', "is this machine's own address"],
  ])('%s is pointed out', async (url, warning) => {
    const { code, stderr } = await at.run(['update', ID, '--url', url, '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(warning)]);
  });

  test.each(['', ',"isEnabled":null', ',"isEnabled":"true"'])(
    'a subscription with %j is not written: it could be switched off',
    async (member) => {
      at.kept.text = `{"subscriptionRules":{"eventTypes":["order.paid"]}${member}}`;
      const { code, stderr } = await at.run(['update', ID, '--add-type', 'order.created', '--yes']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('does not say whether')]);
      expect(at.sent('PUT')).toEqual([]);
    },
  );
});

test('the line for a misspelt type to take away asks before it is done', async () => {
  at.kept.text = WRITTEN.replace('order.paid', 'order.shipped');
  for (const yes of ['--yes', '-y']) {
    const { code, stderr } = await at.run(['update', ID, yes, '--remove-type', 'order.shiped']);
    expect([code, stderr]).toEqual([
      2,
      `error: --remove-type: no event type of this subscription is 'order.shiped'\nnext: hooktrail subscriptions update ${ID} --remove-type order.shipped\n`,
    ]);
    const misspelt = await at.run(['update', ID, yes, '--remove-typ', 'order.shipped']);
    expect([misspelt.code, misspelt.stderr]).toEqual([
      2,
      `error: unknown option '--remove-typ'\nnext: hooktrail subscriptions update ${ID} --remove-type order.shipped\n`,
    ]);
  }
  expect((await at.run(['disable', ID, '--force'])).stderr).toContain(`subscriptions disable ${ID} --yes\n`);
});

describe('enable and disable', () => {
  test('change the switch and nothing else', async () => {
    await at.run(['disable', ID, '--yes']);
    expect(at.sent('PUT')[0]?.body).toBe(WRITTEN.replace('"isEnabled":true', '"isEnabled":false'));
    const { stderr } = await at.run(['enable', ID, '--yes']);
    expect(at.kept.text).toBe(WRITTEN);
    expect(stderr).toContain('isEnabled: false → true');
    const again = await at.run(['enable', ID, '--yes']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('nothing to change')]);
    expect(at.sent('PUT')).toHaveLength(2);
  });

  test.each([
    ['{}', '{"isEnabled":true}'],
    ['{ "a" : 1.10 }', '{ "a" : 1.10 ,"isEnabled":true}'],
    ['{"is\\u0045nabled":false}', '{"is\\u0045nabled":true}'],
    ['{"a":{"isEnabled":false}}', '{"a":{"isEnabled":false},"isEnabled":true}'],
  ])('%s is written as %s', async (now, wanted) => {
    at.kept.text = now;
    expect((await at.run(['enable', ID, '--yes'])).code).toBe(0);
    expect(at.kept.text).toBe(wanted);
  });

  test('an object with two members of one name is not written back', async () => {
    at.kept.text = '{"isEnabled":false,"isEnabled":true}';
    const { code, stderr } = await at.run(['enable', ID, '--yes']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the service wrote the subscription with two members 'isEnabled'"),
    ]);
    expect(at.sent('PUT')).toEqual([]);
  });

  test('an object without the rules has no types that could be added to', async () => {
    at.kept.text = '{"isEnabled":true,"types":["order.paid"]}';
    const { code, stderr } = await at.run(['update', ID, '--add-type', 'order.created', '--yes']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the service wrote the subscription without 'subscriptionRules'"),
    ]);
    expect(at.sent('PUT')).toEqual([]);
  });

  test.each(['{"isEnabled":false}x', '{"isEnabled":fal', '[{"isEnabled":false}]', '"text"', '', '<html>'])(
    'an answer such as %j is never written back',
    async (now) => {
      at.kept.text = now;
      expect((await at.run(['enable', ID, '--yes'])).code).toBe(1);
      expect(at.sent('PUT')).toEqual([]);
    },
  );
});

describe('a change', () => {
  test('is only made with a yes: without a terminal it needs --yes, before any request', async () => {
    const { code, stderr } = await at.run(['disable', ID]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('needs confirmation, and there is no terminal'),
    ]);
    expect(at.requests).toEqual([]);
  });

  test.each([
    ['yes', 0, 1],
    ['no', 2, 0],
  ])('is shown and asked for on a terminal: %s', async (answer, code, puts) => {
    const program = at.start(['disable', 'hooks.example'], { stdin: null, terminal: 100 });
    await program.printed(
      'stderr',
      /isEnabled: true → false[\s\S]*Switch this subscription off\? \(yes or no\)/,
    );
    expect(at.sent('PUT')).toEqual([]);
    program.stdin.write(`${answer}\r`);
    const ended = await program.finished;
    expect(ended.code).toBe(code);
    expect(ended.stderr.includes('nothing was changed')).toBe(code === 2);
    expect(at.sent('PUT')).toHaveLength(puts);
    expect(program.stderr).not.toContain(SECRET);
  });

  test('of the address is asked for with the path that was typed, and without its query', async () => {
    const address = 'https://hooks.example.com/inbound/4f2a-orders?key=hidden';
    const program = at.start(['update', ID, '--url', address], { stdin: null, terminal: 100 });
    const shown = 'callbackUrl: hooks.example.com/in/… → hooks.example.com/inbound/4f2a-orders\n';
    await program.printed('stderr', /\(yes or no\)/);
    expect(program.stderr).toContain(shown);
    program.stdin.write('no\r');
    await program.finished;
    expect(program.stderr).not.toContain('hidden');
    const logged = await at.run(['update', ID, '--url', address, '--yes']);
    expect(logged.stderr).toContain('→ hooks.example.com/inbound/…\n');
  });

  test('is asked for with --quiet too', async () => {
    const program = at.start(['disable', ID, '--quiet'], { stdin: null, terminal: 100 });
    await program.printed('stderr', /isEnabled: true → false[\s\S]*\(yes or no\)/);
    program.stdin.write('no\r');
    await program.finished;
  });

  test('of a part of an address needs a person', async () => {
    const { code, stderr } = await at.run(['disable', 'hooks.example', '--yes']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("'hooks.example' is not a GUID, and with --yes nobody confirms its match"),
    ]);
  });

  test('with a wrong word that another flag has too is corrected by the word, and not by a line', async () => {
    const same = 'order.shiped';
    const added = ['--add-marketplace', same];
    const { code, stderr } = await at.run(['update', ID, ...added, '--add-type', same, '--dry-run']);
    expect([code, stderr]).toEqual([
      2,
      `error: --add-type: no event type on offer is '${same}'\nnext: did you mean order.shipped?\n`,
    ]);
  });

  test('of a word that is in no address, or in several, is an error about that word', async () => {
    const none = await at.run(['disable', 'hoks.example.com', '--dry-run']);
    expect(none).toEqual({
      code: 2,
      stdout: '',
      stderr:
        "error: 'hoks.example.com' is neither a GUID nor in the address of a subscription that is switched on\n" +
        'next: hooktrail subscriptions disable hooks.example.com --dry-run\n',
    });
    const found = await at.run(['disable', 'hooks.example', '--dry-run']);
    expect(found.stderr).toBe(
      `hooks.example: hooks.example.com/in/… (${ID})\nwould change hooks.example.com/in/… (${ID})\n`,
    );
    const got = await at.run(['get', 'hooks.example']);
    expect(got.stderr).toBe(`hooks.example: hooks.example.com/in/… (${ID})\n`);
    expect((await at.run(['check', 'nowhere', '--yes'])).stderr).toMatch(/^error: 'nowhere' is neither/);
  });

  test.each([`{${ID.toUpperCase()}}`, ` "${ID}" `, `urn:uuid:${ID}`, ID.replaceAll('-', '')])(
    'takes the id as it is pasted: %s',
    async (pasted) => {
      const shown = await at.run(['get', pasted, '--json']);
      expect([shown.code, JSON.parse(shown.stdout)[0].subscriptionId]).toEqual([0, ID]);
      expect((await at.run(['disable', pasted, '--yes'])).code).toBe(0);
      expect(at.sent('PUT')[0]?.url.toLowerCase()).toMatch(new RegExp(`/subscriptions/id/${ID}$`));
      expect((await at.run(['token', pasted])).stderr).toMatch(/^error: no Api-Token is saved here for/);
    },
  );

  test('an id inside an address is a part of that address', async () => {
    const { stderr } = await at.run(['get', `https://hooks.example.net/${ID}`]);
    expect(stderr).toMatch(
      /^error: 'https:\/\/hooks\.example\.net\/.*' is neither a GUID nor in the address/,
    );
  });

  test.each([['get'], ['token'], ['disable', '--dry-run'], ['check', '--yes']])(
    '%s with an empty word, as of a variable that is not set, means no subscription',
    async (command, ...flags) => {
      const { code, stdout, stderr } = await at.run([command, '', ...flags]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^error: '' is neither a GUID nor in the address of a subscription/);
    },
  );

  test('--dry-run prints the difference, and writes nothing', async () => {
    const { code, stdout } = await at.run(['update', ID, '--remove-type', 'order.paid', '--dry-run']);
    expect([code, stdout]).toEqual([0, 'subscriptionRules.eventTypes:\n  - order.paid\n']);
    expect(at.sent('PUT')).toEqual([]);
  });

  test('--json prints what changed, and the object with every digit', async () => {
    const { stdout } = await at.run(['update', ID, '--add-type', 'invoice.sent', '--yes', '--json']);
    const compact = at.kept.text.replaceAll(/\s+/g, '');
    const before = '["order.created","order.paid"]';
    const after = '["order.created","order.paid","invoice.sent"]';
    const change = `{"member":"subscriptionRules.eventTypes","before":${before},"after":${after},"added":["invoice.sent"],"removed":[]}`;
    expect(stdout).toBe(
      `{"subscriptionId":"${ID}","written":true,"changes":[${change}],"subscription":${compact}}\n`,
    );
    expect(stdout).toContain('"n":9007199254740993,"price":1.10');
    const dry = await at.run(['disable', ID, '--dry-run', '--json']);
    expect(JSON.parse(dry.stdout)).toMatchObject({ written: false, changes: [{ member: 'isEnabled' }] });
  });

  test('of somebody else meanwhile is shown, and nothing is written', async () => {
    at.next('PUT', (response) => {
      at.write(at.kept.text.replace('/in/', '/elsewhere/').replace('"order.paid"', '"invoice.sent"'));
      at.send(response, 412, '{"errors":[{"code":"changed"}]}');
    });
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('somebody else changed the subscription')]);
    expect(stderr).toContain('callbackUrl: hooks.example.com/in/… → hooks.example.com/elsewhere/…');
    expect(stderr).toContain('- order.paid');
    expect(stderr).toContain('+ invoice.sent');
    expect(at.sent('PUT')).toHaveLength(1);
    expect(at.kept.text).toContain('"isEnabled":true');
  });

  test.each([
    ['W/"v1"', 'the ETag W/"v1" is weak, and no condition can be met by it (RFC 9110, section 13.1.1)'],
    ['"v1"', 'the subscription still has the ETag "v1"'],
  ])('that the service refuses under its own ETag %s is blamed on nobody else', async (etag, reason) => {
    const now = (response: ServerResponse) => at.send(response, 200, WRITTEN, { ETag: etag });
    at.next('GET', now);
    at.next('GET', now);
    at.next('PUT', (response) => at.send(response, 412, '{"errors":[{"code":"changed"}]}'));
    const { code, stdout, stderr } = await at.run(['disable', ID, '--yes', '--quiet']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        `error: the service refused the ETag that it gave for the subscription ${ID}; nothing was written`,
        `  ${reason}`,
        `  the subscription ${ID} cannot be changed: the service answered 412 Precondition Failed`,
        '  code: changed',
        'next: tell the owner of the service, or of a proxy before it: nothing can be changed until the ETag is accepted\n',
      ].join('\n'),
    });
  });

  test('two at once: one is made, the other says what the first did', async () => {
    const both = await Promise.all([
      at.run(['disable', ID, '--yes']),
      at.run(['update', ID, '--add-type', 'invoice.sent', '--yes']),
    ]);
    const failed = both.filter(({ code }) => code === 1);
    expect(both.filter(({ code }) => code === 0).length + failed.length).toBe(2);
    for (const { stderr } of failed) expect(stderr).toContain('somebody else changed');
    expect(at.kept.version).toBe(3 - failed.length);
  });

  test('without an ETag is not made', async () => {
    at.next('GET', (response) => at.send(response, 200, WRITTEN));
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('the service gave no ETag')]);
    expect(at.sent('PUT')).toEqual([]);
  });

  test.each(['*', '"v1", "v2"', '"v1'])(
    'under the ETag %s is not made: it could undo that of another',
    async (etag) => {
      at.next('GET', (response) => at.send(response, 200, WRITTEN, { ETag: etag }));
      const { code, stderr } = await at.run(['disable', ID, '--yes']);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`gave an invalid ETag, ${etag}, for`)]);
      expect(at.sent('PUT')).toEqual([]);
    },
  );

  const PORTAL = '<html><title>Sign in to the network</title></html>';
  const ANOTHER = WRITTEN.replace(ID, GONE);
  const ADD = [
    'update',
    ID,
    '--url',
    'https://hooks.example.com/next',
    '--add-type',
    'order.shipped',
    '--yes',
  ];
  const ALL = WRITTEN.replace(/"https:[^"]*\/in\/[^"]*"/, '"https://hooks.example.com/next"').replace(
    '"order.paid"]',
    '"order.paid","order.shipped"]',
  );
  const missing = (members: string, ...lines: string[]) =>
    [
      `error: the service accepted the change of the subscription ${ID}, but did not make it: ${members}`,
      '  still to change:',
      ...lines.map((line) => `    ${line}`),
      `next: look at it with \`hooktrail subscriptions get ${ID}\`; the owner of the service knows why it was ignored\n`,
    ].join('\n');
  const ADDRESS = 'callbackUrl: hooks.example.com/in/… → hooks.example.com/next';
  const TYPE = ['subscriptionRules.eventTypes:', '  + order.shipped'];
  test.each([
    ['nothing', 204, '', WRITTEN, missing('callbackUrl, subscriptionRules.eventTypes', ADDRESS, ...TYPE)],
    [
      'the address alone',
      204,
      '',
      ALL.replace(',"order.shipped"', ''),
      missing('subscriptionRules.eventTypes', ...TYPE),
    ],
    [
      'nothing, though it claims to',
      200,
      ALL,
      WRITTEN,
      missing('callbackUrl, subscriptionRules.eventTypes', ADDRESS, ...TYPE),
    ],
    [
      'no rules at all',
      204,
      '',
      ALL.replace(/"subscriptionRules".*\n}/, '"m":1}'),
      /did not make it: subscriptionRules\n/,
    ],
    ['nothing, behind a portal', 200, PORTAL, WRITTEN, /did not make it: callbackUrl, /],
    ['everything, behind a portal', 200, PORTAL, ALL, ''],
    ['everything, with another subscription as answer', 200, ANOTHER, ALL, ''],
    [
      'everything, with the host in capitals',
      204,
      '',
      ALL.replace('hooks.example.com/next', 'HOOKS.example.com/next'),
      '',
    ],
    [
      'everything, in another order',
      204,
      '',
      ALL.replace('"order.paid","order.shipped"', '"order.shipped","order.paid"'),
      '',
    ],
  ])('of which the service makes %s is read again', async (_, status, body, now, error) => {
    at.next('PUT', (response) => {
      at.write(now);
      response.writeHead(status).end(body || undefined);
    });
    const { code, stderr } = await at.run([...ADD, '--quiet']);
    expect(code).toBe(error === '' ? 0 : 1);
    if (typeof error === 'string') expect(stderr).toBe(error);
    else expect(stderr).toMatch(error);
    expect(at.sent('PUT')).toHaveLength(1);
  });

  test('that cannot be read again is not claimed to be made', async () => {
    at.next('PUT', (response) => {
      at.next('GET', (again) => at.send(again, 403, ''));
      response.writeHead(204).end();
    });
    const { code, stderr } = await at.run(['disable', ID, '--yes', '--quiet']);
    expect([code, stderr]).toEqual([
      1,
      [
        `error: it is unknown whether the subscription ${ID} was changed`,
        '  the service accepted it, but could not be read again',
        `next: look at it with \`hooktrail subscriptions get ${ID}\` before you change it again\n`,
      ].join('\n'),
    ]);
  });

  test('of a subscription whose id is none is not made by its address', async () => {
    at.kept.text = WRITTEN.replace(ID, '../../x~y');
    const { code, stderr } = await at.run(['disable', 'hooks.example', '--dry-run']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('something that is no GUID: ../../x~y\n')]);
  });

  test('of an answer about another subscription is not made', async () => {
    at.kept.text = WRITTEN.replace(ID, GONE);
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another subscription')]);
  });

  test.each([
    ['an error of a proxy', 502],
    ['no answer', 0],
  ])('that was made before %s is found out by reading, and not sent twice', async (_, status) => {
    at.next('PUT', (response) => {
      at.write(WRITTEN.replace('true', 'false'));
      if (status === 0) response.destroy();
      else at.send(response, status, '');
    });
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the change was made, though its answer')]);
    expect(at.sent('PUT')).toHaveLength(1);
  });

  test.each([503, 0])('whose answer is lost (%s) is not claimed, and not sent twice', async (status) => {
    at.next('PUT', (response) => {
      if (status === 0) response.destroy();
      else at.send(response, status, '{"errors":[{"code":"busy"}]}');
    });
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('it is unknown whether')]);
    expect(stderr).toContain(`hooktrail subscriptions get ${ID}`);
    expect(at.sent('PUT')).toHaveLength(1);
  });

  test('that the service refuses is its error, word for word', async () => {
    at.next('PUT', (response) =>
      at.send(response, 400, '{"errors":[{"code":"bad","description":"too many"}]}'),
    );
    const { code, stderr } = await at.run(['disable', ID, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('description: too many')]);
  });

  test('after which the service says that it is off is a warning', async () => {
    at.next('PUT', (response) => {
      at.write(WRITTEN.replace('true', 'false').replace('"order.paid"]', '"order.paid","invoice.sent"]'));
      response.writeHead(204).end();
    });
    const { code, stderr } = await at.run(['update', ID, '--add-type', 'invoice.sent', '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('is switched off now')]);
  });

  test('of hundreds of types shows a few of them, and all with --dry-run', async () => {
    at.types.push(...Array.from({ length: 400 }, (_, index) => `mass.type${index}`));
    const { stderr } = await at.run(['update', ID, '--add-type', 'mass.*', '--yes']);
    expect(stderr).toContain('and 388 more');
    expect(JSON.parse(at.kept.text).subscriptionRules.eventTypes).toHaveLength(402);
    const { stdout } = await at.run(['update', ID, '--remove-type', 'mass.*', '--dry-run']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(401);
  });

  test('of a subscription that is not there, or of a service without them, is a clear error', async () => {
    const gone = await at.run(['enable', GONE, '--yes']);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining(`knows no subscription ${GONE}`)]);
    expect(gone.stderr).toContain('may not have the requests of subscriptions');
  });
});

test('--url is no longer taken for --base-url', async () => {
  const { code, stderr } = await at.run(['enable', ID, '--url', 'https://hooks.example.com']);
  expect([code, stderr]).toEqual([2, expect.not.stringContaining('--base-url')]);
});
