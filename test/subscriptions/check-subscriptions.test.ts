import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { startProxy } from '../support/proxies.ts';
import { onLoopback } from '../support/server.ts';
import { type Certificate, startTlsServer } from '../support/tls.ts';
import { ID, SECRET, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);
const ALLOWED = ['check', '--yes', '--allow-private', '--json'];

/** Makes the subscription's address this one. */
function subscribe(callbackUrl: string): void {
  at.kept.text = JSON.stringify({ subscriptionId: ID, callbackUrl, isEnabled: true });
}

/** Resolves every name to these addresses, one list for each look-up; notes the names. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolveHost = async (host: string) => {
    asked.push(host);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return { asked, context: { resolveHost } };
}

async function startEndpoint(certificate: Certificate) {
  const requests: string[] = [];
  const server = await startTlsServer(certificate, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.end();
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { requests, port: server.port };
}

async function checkOne(args: readonly string[] = ALLOWED, options: object = {}) {
  const { code, stdout, stderr } = await at.run(args, options);
  const [checked] = JSON.parse(stdout === '' ? '[]' : stdout);
  return { code, checked, stderr };
}

test.each<[Certificate, object, object, string]>([
  [
    'expired',
    { validTo: '2021-01-01T00:00:00.000Z', host: true },
    { kind: 'ended' },
    'ended 2021-01-01 00:00',
  ],
  ['other-host', { host: false }, { kind: 'host' }, 'is for another host'],
  [
    'localhost',
    { host: true, trusted: false, issuer: 'Example Private CA' },
    { kind: 'untrusted' },
    'does not send the certificate of its issuer',
  ],
  [
    'self-signed',
    { host: true, trusted: false, issuer: 'localhost' },
    { kind: 'untrusted' },
    'its certificate is self-signed',
  ],
])(
  'the certificate %s is broken, and nothing is sent to its server',
  async (certificate, tls, problem, text) => {
    const endpoint = await startEndpoint(certificate);
    const address = `https://user:pass@localhost:${endpoint.port}/in/${SECRET}?key=${SECRET}`;
    subscribe(address);
    const { code, checked, stderr } = await checkOne(ALLOWED, resolver(['127.0.0.1']));
    expect(checked).toMatchObject({
      ...{ subscriptionId: ID, address, verdict: 'broken', http: null },
      ...{ dns: ['127.0.0.1', '::1'], tls, problem },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
    expect(stderr).not.toContain(SECRET);
    expect(endpoint.requests).toEqual([]);
  },
);

test.each([
  ['127.0.0.1'],
  ['10.1.2.3'],
  ['172.31.0.1'],
  ['192.168.1.1'],
  ['169.254.169.254'],
  ['100.100.100.200'],
  ['168.63.129.16'],
  ['0.0.0.0'],
  ['::1'],
  ['::ffff:127.0.0.1'],
  ['::ffff:7f00:1'],
  ['64:ff9b::a00:1'],
  ['fd00:ec2::254'],
  ['fe80::1'],
  ['2002:7f00:1::'],
  ['64:ff9b:1::7f00:1'],
  ['::ffff:0:7f00:1'],
  ['192.88.99.1'],
  ['2001:1ff::1'],
  ['3fff:fff::1'],
  ['5f00::1'],
])('a name that leads to %s is not connected to', async (address) => {
  const endpoint = await startEndpoint('localhost');
  subscribe(`https://hooks.example.com:${endpoint.port}/in`);
  const { code, checked } = await checkOne(['check', '--yes', '--json'], resolver([address]));
  expect([code, checked.problem, checked.tls]).toEqual([1, { kind: 'private', addresses: [address] }, null]);
});

test.each(['https://127.1/in', 'https://0x7f000001/', 'https://[::1]/', 'https://2130706433/'])(
  '%s is an address of this machine however it is written',
  async (url) => {
    subscribe(url);
    const { checked } = await checkOne(['check', '--yes', '--json'], resolver(['8.8.8.8']));
    expect(checked.problem.kind).toBe('private');
  },
);

test('a name is looked up once: what was checked is what is connected to', async () => {
  const endpoint = await startEndpoint('localhost');
  subscribe(`https://hooks.example.com:${endpoint.port}/in`);
  const changing = resolver(['10.0.0.1'], ['127.0.0.1']);
  const { checked } = await checkOne(['check', '--yes', '--json'], changing);
  expect([checked.dns, checked.problem.kind, changing.asked]).toEqual([
    ...[['10.0.0.1'], 'private', ['hooks.example.com']],
  ]);
  // Where it may connect, it connects to the address of that one look-up.
  const again = resolver(['127.0.0.1'], ['192.0.2.1']);
  expect((await checkOne(ALLOWED, again)).checked.problem.kind).toBe('host');
  expect(again.asked).toEqual(['hooks.example.com']);
});

test('a name that resolves to nothing, and a port that nobody has, are broken', async () => {
  subscribe('https://hooks.example.com/in');
  const resolveHost = async (): Promise<readonly string[]> => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  };
  const unknown = await checkOne(ALLOWED, { context: { resolveHost } });
  expect(unknown.checked).toMatchObject({ dns: null, problem: { kind: 'name' }, verdict: 'broken' });
  const { port } = await startEndpoint('localhost');
  subscribe(`https://hooks.example.com:${port === 1 ? 2 : 1}/in`);
  const closed = await checkOne(ALLOWED, resolver(['127.0.0.1']));
  expect(closed.checked.problem).toEqual({
    kind: 'connection',
    message: expect.stringContaining('does not accept connections'),
  });
});

test('a server that does not speak TLS is broken', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).end('SSH-2.0-x\r\n');
  });
  await using loopback = await onLoopback(server);
  subscribe(`https://hooks.example.com:${loopback.port}/in`);
  const { checked } = await checkOne(ALLOWED, resolver(['127.0.0.1']));
  expect(checked).toMatchObject({ tls: null, http: null, problem: { kind: 'tls' } });
});

test('an address without TLS is connected to, and gets nothing', async () => {
  let bytes = 0;
  const server = createServer((socket) => {
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
  });
  await using loopback = await onLoopback(server);
  subscribe(`http://hooks.example.com:${loopback.port}/in`);
  const { code, checked } = await checkOne(ALLOWED, resolver(['127.0.0.1']));
  expect([code, checked.verdict, bytes]).toEqual([0, 'unverified', 0]);
});

test('goes through the proxy where one is set, also if only that knows the name', async () => {
  await using proxy = await startProxy();
  subscribe('https://hooks.example.com/in');
  const env = { ...at.env, HTTPS_PROXY: proxy.origin };
  const resolveHost = async (): Promise<readonly string[]> => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  };
  const { checked } = await checkOne(['check', '--yes', '--json'], { env, context: { resolveHost } });
  expect(proxy.asked).toEqual(['CONNECT hooks.example.com:443']);
  expect(checked).toMatchObject({ dns: null, problem: { kind: 'connection' } });
  const inside = await checkOne(['check', '--yes', '--json'], { env, ...resolver(['10.0.0.1']) });
  expect([inside.checked.problem.kind, proxy.asked.length]).toEqual(['private', 1]);
});

test('asks before it connects, and needs --yes without a terminal', async () => {
  subscribe('https://hooks.example.com/in');
  const { asked, context } = resolver(['10.0.0.1']);
  const none = await at.run(['check'], { context });
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining('needs confirmation, and there is no terminal'),
  ]);
  expect(at.requests).toEqual([]);
  const program = at.start(['check'], { stdin: null, terminal: 100, context });
  await program.printed('stderr', /Connect from this machine to hooks\.example\.com\? \(yes or no\)/);
  expect(asked).toEqual([]);
  program.stdin.write('no\r');
  const declined = await program.finished;
  expect([declined.code, declined.stderr]).toEqual([2, expect.stringContaining('nothing was connected to')]);
  expect(asked).toEqual([]);
});

test('one is named by its id or a part of its address, and the text is for people', async () => {
  const endpoint = await startEndpoint('expired');
  subscribe(`https://localhost:${endpoint.port}/in`);
  for (const word of [ID, 'localhost']) {
    const { code, stdout, stderr } = await at.run(
      ['check', word, '--yes', '--allow-private'],
      resolver(['127.0.0.1']),
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: [
        'error: 1 of 1 endpoint is broken, seen from this machine',
        `  localhost:${endpoint.port}/in: its certificate ended 2021-01-01 00:00:00Z`,
        `next: fix the endpoint, and check again; \`hooktrail webhooks recover --subscription ${ID} --since TIME --forward-to URL\` then hands over the missed events\n`,
      ].join('\n'),
    });
    expect(stdout).toBe(
      [
        `localhost:${endpoint.port}/in (${ID}): broken: its certificate ended 2021-01-01 00:00:00Z`,
        '  name          127.0.0.1, ::1',
        '  certificate   for this host, from 2020-01-01 00:00:00Z until 2021-01-01 00:00:00Z, by Example Private CA\n',
      ].join('\n'),
    );
  }
  const none = await at.run(['check', 'nowhere.example', '--yes']);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("'nowhere.example' is neither")]);
  at.kept.text = '{}';
  expect(await at.run(['check', '--yes', '--json'])).toEqual({
    code: 0,
    stdout: '[]\n',
    stderr: 'no subscription has an address to check\n',
  });
});

test.each(['not a url', 'javascript:alert(1)', 'https://[::1', ''])(
  'the address %j is broken',
  async (url) => {
    subscribe(url);
    const { code, checked, stderr } = await checkOne();
    expect(checked).toEqual({
      ...{ subscriptionId: ID, address: url, dns: null, tls: null, http: null, verdict: 'broken' },
      problem: { kind: 'address', message: 'its callback address is not an HTTP URL' },
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('\n  no address: its callback address is not an HTTP URL\n'),
    ]);
  },
);

test('a subscription that is listed twice is checked once', async () => {
  const one = `{"subscriptionId":"${ID}","callbackUrl":"https://hooks.example.com/in","isEnabled":true}`;
  at.next('GET', (response) => at.send(response, 200, `{"count":2,"items":[${one},${one}]}`));
  const { stderr } = await at.run(['check', '--yes'], resolver(['10.0.0.1']));
  expect(stderr).toMatch(/^error: 1 of 1 endpoint is broken/);
});

test.each([
  ['an endpoint that says nothing', 'silent'],
  ['a look-up without an end', 'unresolved'],
  ['a proxy that says nothing', 'proxied'],
])('Ctrl-C ends the check of %s at once', async (_, kind) => {
  let noteBegun = () => {};
  const begun = new Promise<void>((resolve) => {
    noteBegun = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    noteBegun();
  });
  await using loopback = await onLoopback(server);
  subscribe(`https://hooks.example.com:${loopback.port}/in`);
  const resolveHost = async (): Promise<readonly string[]> => {
    if (kind !== 'unresolved') return ['127.0.0.1'];
    noteBegun();
    return await new Promise(() => undefined);
  };
  const env = kind === 'proxied' ? { ...at.env, HTTPS_PROXY: loopback.origin } : at.env;
  const program = at.start(ALLOWED, { env, context: { resolveHost } });
  await begun;
  program.kill('SIGINT');
  expect(await program.finished).toEqual({ code: 130, stdout: '', stderr: '' });
});
