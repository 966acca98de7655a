import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { hooktrail, keychainOf } from '../support/program.ts';
import { ID, SECRET, startChanging, WRITTEN } from './changing-service.ts';

const at = forEachTest(startChanging);
let folder: string;
beforeEach(() => {
  folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'webhooks');
});

const UNPLACED = ['create', '--url', `https://hooks.example.com/in/${SECRET}`, '--type', 'order.*'];
const CREATE = [...UNPLACED, '--marketplace', '2001'];
const RENEW = ['renew', ID, '--yes'];
const token = () => at.run(['token', ID]);
const filesOf = async () => (await readdir(folder).catch((): string[] => [])).sort();

describe('create', () => {
  test('makes a subscription, saves its token, and prints its id alone', async () => {
    const { code, stdout, stderr } = await at.run([...CREATE, '--yes']);
    expect([code, stdout]).toEqual([0, `${ID}\n`]);
    const [post] = at.sent('POST');
    expect(post?.headers['content-type']).toBe('application/vnd.example.v1+json');
    expect(JSON.parse(post?.body ?? '')).toEqual({
      callbackUrl: `https://hooks.example.com/in/${SECRET}`,
      subscriptionRules: {
        marketplaces: ['2001'],
        eventTypes: ['order.created', 'order.paid', 'order.shipped'],
      },
    });
    const saved = path.join(folder, `default~${ID}.api-token`);
    expect(stderr.split('\n')).toEqual([
      '--type order.*: 3 types; types offered later are not included',
      'a new subscription of hooks.example.com/in/…, marketplace 2001, to',
      ...['order.created', 'order.paid', 'order.shipped'].map((type) => `  ${type}`),
      `created a subscription of hooks.example.com/in/…; its Api-Token is saved in ${saved}`,
      `next: \`hooktrail webhooks listen --subscription ${ID}\` expects it`,
      `next: \`hooktrail subscriptions token ${ID}\` prints it, for a handler of your own`,
      '',
    ]);
    expect(stderr).not.toMatch(new RegExp(`token-1|${SECRET}`));
    expect(await token()).toEqual({ code: 0, stdout: 'token-1\n', stderr: '' });
    const files = await Promise.all(
      (await filesOf()).map((name) => readFile(path.join(folder, name), 'latin1')),
    );
    expect(files.join('')).not.toContain('token-1');
  });

  test('asks on a terminal, and makes nothing after a no', async () => {
    const program = at.start(CREATE, { stdin: null, terminal: 100 });
    await program.printed('stderr', /order\.paid[\s\S]*Create this subscription\? \(yes or no\)/);
    program.stdin.write('no\r');
    const { code, stderr } = await program.finished;
    expect([code, stderr]).toEqual([2, expect.stringContaining('nothing was created')]);
    expect(at.sent('POST')).toEqual([]);
  });

  test('--dry-run shows what would be sent', async () => {
    const { code, stdout } = await at.run([...CREATE, '--dry-run']);
    expect([code, Object.keys(JSON.parse(stdout))]).toEqual([0, ['callbackUrl', 'subscriptionRules']]);
    expect(at.sent('POST')).toEqual([]);
  });

  test('--json says where the token is, and not what it is', async () => {
    const { stdout } = await at.run([...CREATE, '--yes', '--json']);
    expect(JSON.parse(stdout)).toEqual({ subscriptionId: ID, savedIn: expect.stringContaining(folder) });
  });

  test.each([
    [['create', '--yes'], '--url, --type and --marketplace: needed for a subscription'],
    [
      ['create', '--type', 'order.paid', '--marketplace', '2001', '--yes'],
      '--url: needed for a subscription\nnext: give the address of your webhook',
    ],
    [CREATE, 'needs confirmation, and there is no terminal'],
  ])('%j is a mistake in the line', async (args, problem) => {
    const { code, stderr } = await at.run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    expect(at.requests).toEqual([]);
  });

  test.each([
    [
      [],
      2,
      '  your other subscriptions have 10000, 2001\nnext: give the id of a marketplace, as in --marketplace 10000\n',
    ],
    [['--dry-run'], 2, '  your other subscriptions have 10000, 2001\n'],
    [
      ['--yes'],
      500,
      '  your other subscriptions could not be listed\nnext: give the id of a marketplace, as in --marketplace ID\n',
    ],
  ])('without a marketplace names those of other subscriptions (%j)', async (flags, status, text) => {
    at.kept.text = at.kept.text.replace('["2001"]', '["2001",10000]');
    if (status === 500) at.next('GET /subscriptions/mine', (response) => at.send(response, 403, ''));
    const { code, stdout, stderr } = await at.run([...UNPLACED, ...flags]);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      expect.stringMatching(/^error: --marketplace: needed for a subscription\n/),
    ]);
    expect(stderr).toContain(text);
    expect(at.sent('POST')).toEqual([]);
  });

  test('without a marketplace offers those of other subscriptions on a terminal', async () => {
    const program = at.start(UNPLACED, { stdin: null, terminal: 100 });
    await program.printed('stderr', /your other subscriptions have 2001\n[\s\S]*Marketplaces, with commas/);
    program.stdin.write('2001, 2002\r');
    await program.printed('stderr', /marketplaces 2001, 2002, to[\s\S]*Create this subscription\?/);
    program.stdin.write('yes\r');
    expect((await program.finished).code).toBe(0);
    expect(JSON.parse(at.sent('POST')[0]?.body ?? '').subscriptionRules.marketplaces).toEqual([
      '2001',
      '2002',
    ]);
  });

  test.each([503, 408, 0])(
    'whose answer is lost (%s) is not sent twice, and says where to look',
    async (status) => {
      at.next('POST', (response) => {
        if (status === 0) response.destroy();
        else at.send(response, status, '');
      });
      const { code, stderr } = await at.run([...CREATE, '--yes']);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('it is unknown whether the subscription was created'),
      ]);
      expect(stderr).toMatch(/subscriptions list[\s\S]*subscriptions renew/);
      expect(at.sent('POST')).toHaveLength(1);
    },
  );

  test('whose answer is torn keeps the token that its header had', async () => {
    at.next('POST', (response) => {
      const headers = { 'Api-Token': 'torn-1', Location: `/subscriptions/id/${ID}`, 'Content-Length': 100 };
      response.writeHead(201, headers).write('{"subscr');
      setTimeout(() => response.destroy(), 50);
    });
    expect(await at.run([...CREATE, '--yes'])).toMatchObject({ code: 0, stdout: `${ID}\n` });
    expect((await token()).stdout).toBe('torn-1\n');
  });

  test.each([
    ['no id', ''],
    ['an id that is no GUID', '{"subscriptionId":"\\u001b[31mred"}'],
    ['a long one', JSON.stringify({ subscriptionId: 'a'.repeat(300) })],
  ])('with %s in the answer finds it in the list by the address', async (_, body) => {
    at.kept.text = at.kept.text.replace('\\/\\/hooks.example.com', '//hooks.example.com');
    at.next('POST', (response) => at.send(response, 201, body, { 'Api-Token': 'unnamed-1' }));
    expect((await at.run([...CREATE, '--yes'])).stdout).toBe(`${ID}\n`);
    expect((await token()).stdout).toBe('unnamed-1\n');
  });

  test.each([
    ['the answer has no token', {}, 'and gave no Api-Token that can be used'],
    ['the token is none', { 'Api-Token': 'a b' }, 'and gave no Api-Token that can be used'],
    ['the answer has two tokens', { 'Api-Token': ['one', 'two'] }, 'and gave no Api-Token that can be used'],
  ])('where %s says so', async (_, headers, problem) => {
    at.next('POST', (response) => at.send(response, 201, `{"subscriptionId":"${ID}"}`, headers));
    const { code, stderr } = await at.run([...CREATE, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect(stderr).toContain(`hooktrail subscriptions renew ${ID}`);
  });

  test('takes a token that a proxy wrote twice, and an id in braces', async () => {
    const headers = { 'Api-Token': ['twice', 'twice'] };
    at.next('POST', (response) => at.send(response, 201, `{"subscriptionId":"{${ID}}"}`, headers));
    expect((await at.run([...CREATE, '--yes'])).stdout).toBe(`${ID}\n`);
    expect((await token()).stdout).toBe('twice\n');
  });

  test('with two ids in the answer takes neither', async () => {
    const other = ID.replaceAll('1', '2');
    const body = `{"subscriptionId":"${ID}","subscriptionId":"${other}"}`;
    const headers = { 'Api-Token': 'located', Location: `/subscriptions/id/${ID}` };
    at.next('POST', (response) => at.send(response, 201, body, headers));
    expect((await at.run([...CREATE, '--yes'])).stdout).toBe(`${ID}\n`);
  });

  test.each([
    ['create', CREATE, 'it is unknown whether the subscription was created'],
    ['renew', ['renew', ID], `it is unknown whether the Api-Token of ${ID} was renewed`],
  ])('%s answered by a portal is not claimed to be done', async (_, args, problem) => {
    at.next('POST', (response) => at.send(response, 200, '<html><title>Sign in</title></html>'));
    const { code, stderr } = await at.run([...args, '--yes', '--quiet']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`${problem}\n  the answer shows no subscription and has no Api-Token\n`),
    ]);
  });

  describe.each([
    ['create', [...CREATE, '--marketplace', '2001', '--yes']],
    ['renew', RENEW],
  ])('%s: an error that repeats the new token is shown without it', (_, args) => {
    const NEW = 'nEw+tok/en=1234';
    test.each([
      ['in a message', JSON.stringify({ message: `made ${NEW}` })],
      ['in an address', JSON.stringify({ message: 'see', url: `/x?t=${encodeURIComponent(NEW)}` })],
      ['in JSON in JSON', JSON.stringify({ errors: [{ detail: JSON.stringify({ given: NEW }) }] })],
      ['in text', `failed after ${NEW}`],
      ['in a title', `<html><title>${NEW}</title></html>`],
    ])('%s', async (_where, body) => {
      for (const name of ['Api-Token', 'Api-Key'])
        for (const flags of [['--debug'], ['--error-format', 'json']]) {
          at.next('POST', (response) => at.send(response, 500, body, { [name]: NEW, 'X-Echo': NEW }));
          const { code, stdout, stderr } = await at.run([...args, ...flags]);
          expect(code).toBe(1);
          expect(stderr).toContain('[redacted]');
          expect(decodeURIComponent(stdout + stderr)).not.toContain(NEW);
        }
    });
  });

  test('that the service makes switched off is a warning', async () => {
    at.next('POST', (response) =>
      at.send(response, 201, `{"subscriptionId":"${ID}","isEnabled":false}`, { 'Api-Token': 't' }),
    );
    const { code, stderr } = await at.run([...CREATE, '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the service made it switched off')]);
  });

  test.each([404, 405, 501])('a service without the request (%s) gets a clear error', async (status) => {
    at.next('POST', (response) => at.send(response, status, ''));
    const { code, stderr } = await at.run([...CREATE, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${status}`)]);
  });
});

describe('renew', () => {
  test('sends If-Match and saves the new token; another profile does not have it', async () => {
    const { code, stdout, stderr } = await at.run(RENEW);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toBe(
      `renewed the Api-Token of hooks.example.com/in/… (${ID}); it is saved in ${path.join(folder, `default~${ID}.api-token`)}\n` +
        `next: \`hooktrail subscriptions token ${ID}\` prints it, for each handler of your own; a listener with --subscription has it\n`,
    );
    expect(at.sent('POST')[0]).toMatchObject({
      headers: { 'if-match': '"v1"', 'content-type': 'application/vnd.example.v1+json' },
      body: '',
    });
    expect((await token()).stdout).toBe('token-2\n');
    await at.run([...RENEW, '--json']);
    expect((await at.run(['token', ID.toUpperCase()])).stdout).toBe('token-3\n');
    const env = { ...at.env, HOOKTRAIL_PROFILE: 'other' };
    const other = await at.run(['token', ID], { env });
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('no Api-Token is saved here')]);
  });

  test.each(['Api-Key', 'Api-Token'])('takes the new token from the header %s', async (header) => {
    at.kept.renewHeader = header;
    expect(await at.run([...RENEW, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await token()).stdout).toBe('token-2\n');
  });

  test.each([
    ['two different ones', { 'Api-Key': 'by-key', 'Api-Token': 'by-token' }, 'by-token', true],
    ['the same one twice', { 'Api-Key': 'same', 'Api-Token': 'same' }, 'same', false],
    ['one that cannot be used', { 'Api-Key': 'by-key', 'Api-Token': 'a b' }, 'by-key', false],
  ])('with %s in both headers saves that of Api-Token, if it can', async (_, headers, saved, isInDoubt) => {
    at.next('POST', (response) => at.send(response, 200, '<html>', headers));
    const { code, stderr } = await at.run([...RENEW, '--quiet']);
    expect([code, (await token()).stdout]).toEqual([0, `${saved}\n`]);
    expect(stderr.includes('one token in Api-Token and another in Api-Key')).toBe(isInDoubt);
    expect(stderr).not.toMatch(/by-/);
  });

  test('sends an ETag that is an integer without quotes as it is', async () => {
    at.next(`GET /subscriptions/id/${ID}`, (response) =>
      at.send(response, 200, WRITTEN, { ETag: '8675309' }),
    );
    at.next('POST', (response) => void response.writeHead(204, { 'Api-Key': 'by-key' }).end());
    expect((await at.run(RENEW)).code).toBe(0);
    expect(at.sent('POST')[0]?.headers['if-match']).toBe('8675309');
  });

  test('says what becomes invalid, and asks', async () => {
    const program = at.start(['renew', 'hooks.example'], { stdin: null, terminal: 200 });
    await program.printed('stderr', /becomes invalid at once[\s\S]*Renew it\? \(yes or no\)/);
    program.stdin.write('no\r');
    const { code, stderr } = await program.finished;
    expect([code, stderr]).toEqual([2, expect.stringContaining('nothing was renewed')]);
    expect(at.sent('POST')).toEqual([]);
  });

  test('--dry-run renews nothing, and with --json prints an object too', async () => {
    const stderr = `would renew the Api-Token of hooks.example.com/in/… (${ID})\n`;
    expect(await at.run(['renew', ID, '--dry-run'])).toEqual({ code: 0, stdout: '', stderr });
    const shown = await at.run(['renew', ID, '--dry-run', '--json']);
    expect({ ...shown, stdout: JSON.parse(shown.stdout) }).toEqual({
      code: 0,
      stdout: { subscriptionId: ID, savedIn: null },
      stderr,
    });
    expect(at.sent('POST')).toEqual([]);
  });

  test.each([503, 0])('whose answer is lost (%s) leaves a doubt until the next', async (status) => {
    await at.run(RENEW);
    at.next('POST', (response) => {
      if (status === 0) response.destroy();
      else at.send(response, status, '');
    });
    const { code, stderr } = await at.run(RENEW);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`it is unknown whether the Api-Token of ${ID} was renewed`),
    ]);
    expect(at.sent('POST')).toHaveLength(2);
    const doubtful = await token();
    expect([doubtful.stdout, doubtful.stderr]).toEqual([
      'token-2\n',
      expect.stringContaining('this token may be invalid'),
    ]);
    await at.run(RENEW);
    expect(await token()).toEqual({ code: 0, stdout: 'token-3\n', stderr: '' });
  });

  test('that is refused leaves no doubt', async () => {
    await at.run(RENEW);
    at.next('POST', (response) => {
      at.kept.version++;
      at.send(response, 412, '');
    });
    const { code, stderr } = await at.run(RENEW);
    expect([code, stderr]).toEqual([1, expect.stringContaining('meanwhile; nothing was renewed')]);
    at.next('POST', (response) => at.send(response, 404, ''));
    const none = await at.run(RENEW);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('may not renew tokens')]);
    at.next('POST', (response) => at.send(response, 200, '{}'));
    const silent = await at.run(RENEW);
    expect([silent.code, silent.stderr]).toEqual([1, expect.stringContaining('but sent no usable one')]);
  });

  test.each(['W/"v1"', '"v1"'])(
    'that is refused under its own ETag %s is blamed on nobody else',
    async (etag) => {
      await at.run(RENEW);
      const now = (response: ServerResponse) => at.send(response, 200, WRITTEN, { ETag: etag });
      at.next('GET', now);
      at.next('GET', now);
      at.next('POST', (response) => at.send(response, 412, ''));
      const { code, stderr } = await at.run(RENEW);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          `refused the ETag that it gave for the subscription ${ID}; nothing was renewed`,
        ),
      ]);
      expect(await token()).toEqual({ code: 0, stdout: 'token-2\n', stderr: '' });
    },
  );

  test('two at once: one is made, the other is refused, and the saved token is the valid one', async () => {
    const both = await Promise.all([at.run(RENEW), at.run(RENEW)]);
    expect(both.map(({ code }) => code).filter((code) => Number(code) > 1)).toEqual([]);
    expect((await token()).stdout).toBe(`${at.kept.token}\n`);
  });
});

describe('a new token', () => {
  test.each([
    ['create', CREATE],
    ['renew', ['renew', ID]],
  ])('of %s is not asked for where the store cannot take it', async (_, args) => {
    const env = { ...at.env, HOOKTRAIL_PASSPHRASE: '' };
    const { code, stderr } = await at.run([...args, '--yes'], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs a passphrase')]);
    await mkdir(path.dirname(folder), { recursive: true });
    await writeFile(folder, 'no folder');
    expect((await at.run([...args, '--yes'])).code).toBe(2);
    expect(at.sent('POST')).toEqual([]);
  });

  test('is kept in another folder where its own takes it no more, and found there', async () => {
    await at.run(RENEW);
    at.next('POST', async (response) => {
      await rm(folder, { recursive: true });
      await writeFile(folder, 'no folder');
      at.kept.version++;
      at.send(response, 200, '', { 'Api-Token': 'rescued-1' });
    });
    const { code, stderr } = await at.run(RENEW);
    expect([code, stderr]).toEqual([0, expect.stringContaining('it is kept, encrypted, in')]);
    await rm(folder);
    expect((await token()).stdout).toBe('rescued-1\n');
    // The next one replaces the copy.
    await at.run(RENEW);
    expect((await token()).stdout).toBe(`${at.kept.token}\n`);
  });

  test.each([
    [undefined, 'is lost: the service gave it'],
    [100, 'it is shown above, this once'],
  ])('that nothing keeps is shown on a terminal alone (%s)', async (terminal, problem) => {
    await at.run(RENEW);
    at.next('POST', async (response) => {
      await rm(folder, { recursive: true });
      await writeFile(folder, 'no folder');
      await writeFile(path.join(path.dirname(folder), 'rescued'), 'no folder');
      at.send(response, 200, '', { 'Api-Token': 'homeless-1' });
    });
    const options = terminal === undefined ? {} : { terminal };
    const { code, stdout, stderr } = await at.run(RENEW, options);
    expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect([stdout, stderr.includes('homeless-1')]).toEqual(['', terminal !== undefined]);
    expect(stderr).toContain(`hooktrail subscriptions renew ${ID}`);
  });

  test('is saved before anything can be printed, and shown with --debug nowhere', async () => {
    const { stderr } = await at.run([...RENEW, '--debug']);
    expect(stderr).toContain('[redacted]');
    expect(stderr).not.toContain('token-2');
  });

  test('lies in a file whose key the keychain has', async () => {
    const env = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
    const machine = { ...thisMachine(), platform: 'darwin' as const };
    const options = { env, context: { machine } };
    await at.run(RENEW, options);
    expect(await at.run(['token', ID], options)).toEqual({ code: 0, stdout: 'token-2\n', stderr: '' });
    expect([...keychainOf(env).entries.keys()]).toEqual(['api-tokens~default']);
    keychainOf(env).entries.clear();
    const lost = await at.run(['token', ID], options);
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('cannot be read')]);
    await at.run(RENEW, options);
    expect((await at.run(['token', ID], options)).stdout).toBe('token-3\n');
  });

  test('sealed with another passphrase, or damaged, is an error that says how to get another', async () => {
    await at.run(RENEW);
    const other = await at.run(['token', ID], { env: { ...at.env, HOOKTRAIL_PASSPHRASE: 'another' } });
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('check HOOKTRAIL_PASSPHRASE')]);
    const [name = ''] = (await filesOf()).filter((file) => file.endsWith('.api-token'));
    await writeFile(path.join(folder, name), 'damaged');
    expect((await token()).code).toBe(2);
    await at.run(RENEW);
    expect((await token()).stdout).toBe('token-3\n');
  });

  test.each([
    ['profiles delete', ['profiles', 'delete', 'default']],
    ['logout --all', ['logout', '--all']],
  ])('goes with %s', async (_, args) => {
    await at.run(RENEW);
    await writeFile(
      path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'config.json'),
      JSON.stringify({ version: 1, profiles: { default: {}, other: {} } }),
    );
    await at.run(RENEW, { env: { ...at.env, HOOKTRAIL_PROFILE: 'other' } });
    const { code } = await hooktrail(args, { env: at.env });
    expect(code).toBe(0);
    const left = (await filesOf()).filter((name) => name.startsWith('default~'));
    expect(left).toEqual([]);
    const ofOther = (await filesOf()).filter((name) => name.endsWith('.api-token'));
    expect(ofOther).toHaveLength(args[0] === 'profiles' ? 1 : 0);
  });

  test('stays where one signs out of one profile', async () => {
    await at.run(RENEW);
    await hooktrail(['logout'], { env: at.env });
    expect((await token()).stdout).toBe('token-2\n');
  });
});
