import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { onLoopback } from '../support/server.ts';

const ON = '11111111-1111-4111-8111-111111111111';
const OFF = '22222222-2222-4222-8222-222222222222';
const GONE = '33333333-3333-4333-8333-333333333333';
const SILENT = '44444444-4444-4444-8444-444444444444';
const SECRET = 'aBcDeFgHiJkLmNoP';

/** Each as the service writes it, with a number that no double holds. */
const textOf = (id: string, callbackUrl: string, isEnabled = true) =>
  `{"subscriptionId":"${id}","callbackUrl":"${callbackUrl}","isEnabled":${isEnabled},"n":9007199254740993,"subscriptionRules":{"marketplaces":["2001"],"eventTypes":["order.created"]}}`;
const LISTED = [
  textOf(ON, `https://hooks.example.com/in/${SECRET}?key=${SECRET}`),
  textOf(SILENT, 'https://crm.example.com/quiet'),
];
const SWITCHED_OFF = textOf(OFF, 'https://erp.example.com/hook', false);

const eventOf = (id: number, subscriptionId: string, publishStatus: string) => ({
  ...{ subscriptionId, publishStatus, createdOn: new Date(clock.now() - (100 - id) * 60_000).toISOString() },
  eventData: { eventId: `0f8fad5b-d9cb-469f-a165-0000000000${id}`, eventType: 'order.created' },
});
const EVENTS = Array.from({ length: 60 }, (_, index) => {
  const subscription = [ON, OFF, GONE][index % 3] as string;
  return eventOf(99 - index, subscription, subscription === OFF ? 'FAILED' : 'SUCCESS');
});

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const json =
  (status: number, body: string): Answer =>
  (response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', date: new Date(clock.now()).toUTCString() })
      .end(body);
  };

/**
 * A service with subscriptions, one of which is switched off and one of which is gone, and events of three.
 */
async function startNaming() {
  const asked: string[] = [];
  const answers = new Map<string, Answer>([
    ['/subscriptions/mine', json(200, `{"count":2,"items":[${LISTED.join(', ')}]}`)],
    [`/subscriptions/id/${ON}`, json(200, LISTED[0] as string)],
    [`/subscriptions/id/${OFF}`, json(200, SWITCHED_OFF)],
    [
      '/event-types',
      json(200, '{"href":"x","count":1,"items":[{"eventType":"order.created","description":"d"}]}'),
    ],
  ]);
  const searched = (url: string) => {
    const [, id] = /eq\(subscriptionId,([^)]*)\)/.exec(url) ?? [];
    const items = EVENTS.filter(({ subscriptionId }) => id === undefined || subscriptionId === id);
    return json(200, JSON.stringify({ count: items.length, items }));
  };
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url ?? '');
    asked.push(url);
    const answer = url.startsWith('/integrator-events') ? searched(url) : answers.get(url);
    (answer ?? json(404, '{"errors":[{"code":"resource.not_found","description":"nothing here"}]}'))(
      response,
      request,
    );
  });
  const service = await onLoopback(server);
  const home = await createHome();
  const env = {
    ...home.env,
    HOOKTRAIL_BASE_URL: service.origin,
    HOOKTRAIL_VENDOR: 'example',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
  };
  const run = (args: readonly string[], options: object = {}) => hooktrail(args, { env, ...options });
  return {
    ...{ asked, answers, env, run },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const at = forEachTest(startNaming);

test('subscriptions lists them, with addresses that hide what may be a secret', async () => {
  const { code, stdout } = await at.run(['subscriptions']);
  expect(code).toBe(0);
  expect(stdout).toContain('hooks.example.com/in/…');
  expect(stdout).toContain(ON);
  for (const format of ['table', 'csv', 'markdown']) {
    const printed = (await at.run(['subscriptions', 'list', '-o', format])).stdout;
    expect([format, printed.includes(SECRET), printed.includes(SILENT)]).toEqual([format, false, true]);
  }
});

test('subscriptions has whole ids on a terminal of 80 columns: the other commands take them', async () => {
  const { stdout } = await hooktrail(['subscriptions'], { env: at.env, terminal: 80 });
  const lines = stdout.replaceAll(/\u001b\[[\d;]*m/g, '').split('\n');
  expect(lines.filter((line) => line.includes(ON))).toHaveLength(1);
  expect(lines.every((line) => line.length <= 80)).toBe(true);
  // The cells that tell rows apart are whole too, and no title is cut: columns go instead.
  expect(lines.map((line) => line.replaceAll(/ +/g, ' ')).slice(0, 3)).toEqual([
    'callbackUrl on eventTypes subscriptionId',
    `hooks.example.com/in/… true order.creat… ${ON}`,
    `crm.example.com/quiet true order.creat… ${SILENT}`,
  ]);
});

test('subscriptions says that the service lists active ones alone, and how others are found', async () => {
  const more =
    '; the service lists only active ones: `hooktrail subscriptions list --all` adds those that are off or gone\n';
  const said = async (...args: string[]) => (await at.run(['subscriptions', ...args])).stderr;
  expect(await said()).toBe(`2 subscriptions${more}`);
  at.answers.set('/subscriptions/mine', json(200, `{"items":[${LISTED[0]},${SWITCHED_OFF}]}`));
  expect(await said()).toBe(`2 subscriptions, 1 of them off${more}`);
  expect(await said('--json')).toBe('');
  expect(await said('--quiet')).toBe('');
});

test('subscriptions list --all adds those that had events in the last 30 days, as off or gone', async () => {
  const { code, stdout, stderr } = await at.run(['subscriptions', 'list', '--all']);
  expect([code, stderr]).toEqual([
    0,
    '4 subscriptions, 2 on, 1 off, 1 gone; the service lists only active ones; others are shown if they had events in the last 30 days\n',
  ]);
  const states = stdout
    .split('\n')
    .map((line) => [line.split(' ')[0], ...(/[0-9a-f]{8}-\S+/.exec(line) ?? [])]);
  expect(states.slice(1, 5)).toEqual([
    ['on', ON],
    ['on', SILENT],
    ['off', OFF],
    ['gone', GONE],
  ]);
  const listed = JSON.parse((await at.run(['subscriptions', 'list', '--all', '--json'])).stdout);
  expect(listed.map(({ subscriptionId, state }: Record<string, unknown>) => [state, subscriptionId])).toEqual(
    states.slice(1, 5),
  );
  const texts = (await at.run(['subscriptions', 'list', '--all', '--ndjson'])).stdout.split('\n');
  expect(texts[2]).toBe(SWITCHED_OFF.replace(/}$/, ',"state":"off"}'));
  expect(texts[3]).toBe(`{"subscriptionId":"${GONE}","state":"gone"}`);
  // One that the service will not show is not taken for gone.
  at.answers.set(`/subscriptions/id/${OFF}`, json(403, ''));
  const unknown = await at.run(['subscriptions', 'list', '--all', '--json']);
  expect(JSON.parse(unknown.stdout).map(({ state }: { state: string }) => state)).toContain('unknown');
  expect(unknown.stderr).toContain(`whether the subscription ${OFF} is off or gone is unknown`);
});

test('an address that is cut on a narrow terminal still says that it is switched off', async () => {
  const { stdout } = await hooktrail(['events', 'search', '-n', '3'], { env: at.env, terminal: 50 });
  const lines = stdout.replaceAll(/\u001b\[[\d;]*m/g, '').split('\n');
  expect(lines.filter((line) => /….*, off$/.test(line))).toHaveLength(1);
});

test('a service whose subscriptions lack a usual column is no reason for a warning', async () => {
  const one = `{"subscriptionId":"${ON}","callbackUrl":"https://hooks.example.com/in","isEnabled":true}`;
  at.answers.set('/subscriptions/mine', json(200, `{"count":1,"items":[${one}]}`));
  const { code, stdout, stderr } = await at.run(['subscriptions', '--quiet']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(ON);
});

test('subscriptions list prints JSON exactly as the service wrote it', async () => {
  expect((await at.run(['subscriptions', 'list', '--ndjson'])).stdout).toBe(`${LISTED.join('\n')}\n`);
  expect((await at.run(['subscriptions', '--json'])).stdout).toBe(`[\n${LISTED.join(',\n')}\n]\n`);
  expect((await at.run(['subscriptions', '--jq', '.[1].callbackUrl'])).stdout).toBe(
    'https://crm.example.com/quiet\n',
  );
});

test('subscriptions get prints one whole, by its id or a part of its address', async () => {
  expect((await at.run(['subscriptions', 'get', ON])).stdout).toBe(`${LISTED[0]}\n`);
  expect((await at.run(['subscriptions', 'get', 'HOOKS.'])).stdout).toBe(`${LISTED[0]}\n`);
  expect((await at.run(['subscriptions', 'get', ON, '--json'])).stdout).toBe(`[\n${LISTED[0]}\n]\n`);
  // A program runs over the JSON that is printed without it.
  expect((await at.run(['subscriptions', 'get', ON, '--jq', '.subscriptionId'])).stdout).toBe(`${ON}\n`);
  expect((await at.run(['subscriptions', 'get', ON, '--json', '--jq', 'length'])).stdout).toBe('1\n');
  expect((await at.run(['subscriptions', 'get', ON, '-o', 'markdown'])).stdout).toContain(
    `\n\n*1 subscription; `,
  );
  const gone = await at.run(['subscriptions', 'get', GONE]);
  expect([gone.code, gone.stderr]).toEqual([
    1,
    expect.stringContaining(`the service knows no subscription ${GONE}`),
  ]);
});

test('a service without such requests gets a clear error', async () => {
  at.answers.delete('/subscriptions/mine');
  const { code, stderr } = await at.run(['subscriptions']);
  expect(code).toBe(1);
  expect(stderr).toContain('the subscriptions cannot be listed: the service answered 404 Not Found');
  expect(stderr).toContain('next: this service may not have the requests of subscriptions');
});

test('tables show the address of a subscription, off where it is switched off, and gone where nobody knows it', async () => {
  const { stdout } = await at.run(['events', 'search', '-n', '3']);
  const [, on, off, gone] = stdout.trimEnd().split('\n');
  expect(on?.endsWith(`${ON}  hooks.example.com/in/…`)).toBe(true);
  expect(off?.endsWith(`${OFF}  erp.example.com/hook, off`)).toBe(true);
  expect(gone?.endsWith(`${GONE}  ${GONE.slice(0, 8)}, gone`)).toBe(true);
  const onTerminal = await at.run(['events', 'search', '-n', '3'], { terminal: 160 });
  expect(onTerminal.stdout).not.toContain(SECRET);
});

test('about counts no subscription that is off among those that still fail', async () => {
  const { shared } = JSON.parse((await at.run(['events', 'about', ON, '--json'])).stdout);
  expect(shared).toEqual({ subscriptions: 3, withFailures: 1, failing: 0 });
});

test('JSON and CSV of a search are those of the items, and ask for no subscription', async () => {
  await at.run(['events', 'search', '--ndjson']);
  await at.run(['events', 'search', '--csv']);
  await at.run(['events', 'search', '--fields', 'subscriptionId']);
  expect(at.asked.filter((url) => url.startsWith('/subscriptions'))).toEqual([]);
});

test('health names subscriptions, and has a row for each that has no event', async () => {
  const rows = JSON.parse((await at.run(['events', 'health', '--since', '1d', '--json'])).stdout);
  const brief = rows.map(({ value, state, name, events }: Record<string, unknown>) => [
    value,
    state,
    name,
    events,
  ]);
  expect(brief).toEqual([
    [SILENT, 'silent', 'crm.example.com/quiet', 0],
    [OFF, 'off', 'erp.example.com/hook', 20],
    [GONE, 'gone', null, 20],
    [ON, 'ok', 'hooks.example.com/in/…', 20],
  ]);
  const { stdout } = await at.run(['events', 'health', '--since', '1d']);
  expect(stdout).toMatch(/erp\.example\.com\/hook +2222\S+ +off /);
  expect(stdout).toContain('0 of 4 failing, 0 recovered, 1 off, 1 gone, 1 without events, ');
  const filtered = JSON.parse(
    (await at.run(['events', 'health', '--type', 'order.created', '--json'])).stdout,
  );
  expect(filtered.some(({ state }: { state: string }) => state === 'silent')).toBe(false);
});

test('explain names the subscription of a cause', async () => {
  const { stdout } = await at.run(['events', 'explain', '--since', '1d']);
  expect(stdout).toMatch(/\nerp\.example\.com\/hook, off .*\n {2}subscriptionId = 2222/);
  const { causes } = JSON.parse((await at.run(['events', 'explain', '--since', '1d', '--json'])).stdout);
  expect(causes[0].conditions).toEqual([
    { field: 'subscriptionId', op: '=', value: OFF, name: 'erp.example.com/hook' },
  ]);
});

test.each([
  ['403', json(403, '{}')],
  ['404', json(404, '')],
  ['no JSON', json(200, '<html>')],
  [
    'a list of nonsense',
    json(200, '{"items":[5,null,{},{"subscriptionId":7},{"subscriptionId":"x","callbackUrl":9}]}'),
  ],
  ['no list', json(200, '[]')],
  ['an answer that never comes', () => {}],
] as readonly (readonly [string, Answer])[])('%s costs nothing but the names', async (_, answer) => {
  at.answers.set('/subscriptions/mine', answer);
  for (const id of [ON, OFF]) at.answers.delete(`/subscriptions/id/${id}`);
  // Names are waited for until their time is over.
  const passing = setInterval(() => clock.advance(1_500), 20);
  const { code, stdout, stderr } = await at
    .run(['events', 'search', '-n', '2'])
    .finally(() => clearInterval(passing));
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(ON);
  expect(stdout).not.toContain('example.com');
});

test('--subscription takes a part of an address, and says which subscription it is', async () => {
  const { code, stdout, stderr } = await at.run(['events', 'count', '--subscription', 'Hooks.Example']);
  expect([code, stdout]).toEqual([0, '20\n']);
  expect(stderr).toBe(`--subscription Hooks.Example: hooks.example.com/in/… (${ON})\n`);
  expect(at.asked.at(-1)).toContain(`eq(subscriptionId,${ON})`);
});

test('--subscription takes several by commas, also beside an id, unless an address has the comma', async () => {
  const words = `Hooks.Example, crm,hooks.example`;
  const { code, stdout, stderr } = await at.run(['events', 'count', '--subscription', words]);
  const crm = `crm.example.com/quiet (${SILENT})`;
  expect([code, stdout, stderr]).toEqual([
    0,
    '20\n',
    `--subscription Hooks.Example: hooks.example.com/in/… (${ON})\n--subscription crm: ${crm}\n--subscription hooks.example: hooks.example.com/in/… (${ON})\n`,
  ]);
  const both = await at.run(['events', 'count', '--subscription', `${OFF},crm`]);
  expect([both.code, both.stdout, both.stderr]).toEqual([0, '20\n', `--subscription crm: ${crm}\n`]);
  const wrong = await at.run(['events', 'count', '--subscription', 'hooks,orders']);
  expect([wrong.code, wrong.stderr.split('\n')[0]]).toEqual([
    2,
    "error: --subscription: 'orders' is neither a GUID nor in the address of a subscription that is switched on",
  ]);
  const comma = await at.run(['events', 'count', '--subscription', ',']);
  expect(comma.code).toBe(2);
  const listed = `{"count":2,"items":[${LISTED[0]},${textOf(SILENT, 'https://crm.example.com/a,b')}]}`;
  at.answers.set('/subscriptions/mine', json(200, listed));
  const whole = await at.run(['events', 'count', '--subscription', 'com/a,b']);
  expect([whole.code, whole.stderr]).toEqual([
    0,
    `--subscription com/a,b: crm.example.com/a,b (${SILENT})\n`,
  ]);
});

test('a part of several addresses, or of none, is an error that lists or suggests', async () => {
  const several = await at.run(['events', 'search', '--subscription', 'example.com']);
  expect(several.code).toBe(2);
  expect(several.stderr).toContain(`crm.example.com/quiet (${SILENT})`);
  const none = await at.run(['events', 'search', '--subscription', 'crn.example.com']);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('crm.example.com')]);
  // The service lists none that is switched off.
  expect((await at.run(['events', 'search', '--subscription', 'erp.example'])).stderr).toBe(
    "error: --subscription: 'erp.example' is neither a GUID nor in the address of a subscription that is switched on\n" +
      'next: `hooktrail subscriptions` lists them; `hooktrail events health` shows those that are off, if they have events\n',
  );
  expect(at.asked.some((url) => url.startsWith('/integrator-events'))).toBe(false);
});

test('a list that cannot be read ends the command as an error of the service', async () => {
  at.answers.set('/subscriptions/mine', json(403, '{}'));
  const { code, stderr } = await at.run(['events', 'search', '--subscription', 'hooks']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('the subscriptions cannot be listed')]);
});

test('what sends takes a GUID alone where nobody can confirm', async () => {
  const flags = ['--forward-to', 'http://127.0.0.1:9/', '--subscription', 'hooks'];
  for (const command of ['replay', 'recover']) {
    const more = command === 'recover' ? ['--since', '1d', '--new-journal'] : [];
    const { code, stderr } = await at.run(['webhooks', command, ...flags, ...more]);
    expect([command, code, stderr]).toEqual([
      command,
      2,
      expect.stringContaining('without a terminal nobody can confirm'),
    ]);
  }
  expect(at.asked.some((url) => url.startsWith('/integrator-events'))).toBe(false);
});

test('requests that are only shown need a GUID', async () => {
  const { code, stderr } = await at.run(['events', 'search', '--subscription', 'hooks', '--dry-run']);
  expect([code, stderr]).toEqual([
    2,
    "error: --subscription: 'hooks' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e\n" +
      'next: `hooktrail subscriptions` lists the subscriptions with their ids\n',
  ]);
});

test('a person confirms what a part of an address stands for before anything is sent', async () => {
  const flags = ['--forward-to', 'http://127.0.0.1:9/', '--subscription', 'hooks'];
  const program = startHooktrail(['webhooks', 'replay', ...flags], {
    env: at.env,
    stdin: null,
    terminal: 100,
  });
  await program.printed('stderr', /Use hooks\.example\.com\/in\/… \(1111[^)]*\)\? \(yes or no\)/);
  program.stdin.write('no\r');
  const { code, stderr } = await program.finished;
  expect([code, stderr]).toEqual([2, expect.stringContaining('nothing was sent')]);
});

test('completion offers the addresses that were listed last, without a request and without a secret', async () => {
  const complete = async (line: string) => await at.run(['__complete', ...line.split(' ')]);
  await at.run(['subscriptions']);
  const before = at.asked.length;
  const { stdout } = await complete('events search --subscription ');
  expect(stdout).toContain('crm.example.com/quiet\t');
  const id = '11111111-1111-4111-8111-111111111111';
  expect(stdout).toContain(`hooks.example.com/in/\t${id}\n`);
  expect(stdout).not.toContain(`${id}\t`);
  const byId = await complete('events search --subscription=1111');
  expect(byId.stdout).toBe(`words\n--subscription=${id}\thooks.example.com/in/…\n`);
  for (const command of ['events about', 'subscriptions get', 'subscriptions check'])
    expect((await complete(`${command} hooks`)).stdout).toBe(`words\nhooks.example.com/in/\t${id}\n`);
  expect([at.asked.length, stdout.includes(SECRET)]).toEqual([before, false]);
});

test('browse shows addresses', async () => {
  const program = startHooktrail(['events', 'browse'], { env: at.env, stdin: null, terminal: 200 });
  await program.printed('stdout', /erp\.example\.com\/hook, off/);
  expect(program.stdout).not.toContain(SECRET);
  program.stdin.write('q');
  await program.finished;
});
