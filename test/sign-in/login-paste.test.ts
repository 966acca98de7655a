import { expect, test } from 'vitest';
import { changed, redirectOf } from '../support/browser.ts';
import { type Login, startSigningIn, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

async function paste({ program, authorizeUrl }: Login, change: (redirect: URL) => string) {
  program.stdin.write(`${change(await redirectOf(authorizeUrl))}\n`);
  return await program.finished;
}

test.each<[string, (redirect: URL) => string]>([
  ['as it is', ({ href }) => href],
  ['in quotes and white space', ({ href }) => `  "${href}"\t`],
  ['without its scheme, as where an address bar hides it', ({ href }) => href.replace('http://', '')],
])('the pasted URL signs in %s, while standard input stays open', async (_, change) => {
  const login = await at.login(['--paste'], { stdin: null });
  expect(await paste(login, change)).toMatchObject({ code: 0, stdout: '' });
  expect((await at.run(['token'])).code).toBe(0);
});

const cut = (text: string, at: number) => `${text.slice(0, at)}\n  ${text.slice(at)}`;
const cuts: [string, (redirect: URL) => string][] = [
  ['with &amp;', ({ href }) => href.replaceAll('&', '&amp;')],
  ['cut in its code', ({ href }) => cut(href, href.indexOf('code=') + 9)],
  ['cut in its state', ({ href }) => cut(href, href.indexOf('state=') + 9)],
  ['cut before its issuer', ({ href }) => cut(href, href.indexOf('&iss='))],
  ['cut in its issuer', ({ href }) => cut(href, href.length - 3)],
  ['before another line', ({ href }) => `${href}\nsomething else`],
];

test.each(cuts)('an address %s signs in', async (_, change) => {
  const login = await at.login(['--paste'], { stdin: null });
  expect(await paste(login, change)).toMatchObject({ code: 0, stdout: '' });
});

test.each(cuts)('an address %s signs in beside the listener too', async (_, change) => {
  const login = await at.login([], { stdin: null, terminal: 200 });
  await login.program.printed('stderr', /paste its address here: /);
  expect(await paste(login, change)).toMatchObject({ code: 0, stdout: '' });
});

test('a redirect URI that does not lead back here works with --paste', async () => {
  await using elsewhere = await startSigningIn({ redirectUri: 'https://app.example/callback' });
  const login = await elsewhere.login(['--paste', '--redirect-uri', 'https://app.example/callback'], {
    stdin: null,
  });
  expect(await paste(login, (redirect) => redirect.href)).toMatchObject({ code: 0 });
});

test('the client secret and the URL may come on the same pipe', async () => {
  const { clientSecret } = at.sandbox.settings;
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: undefined };
  const login = await at.login(['--paste', '--client-secret-stdin'], {
    env,
    stdin: null,
    firstInput: `${clientSecret}\n`,
  });
  expect(await paste(login, (redirect) => redirect.href)).toMatchObject({ code: 0 });
});

test.each<[string, (redirect: URL) => string, string]>([
  ['nothing', () => '', 'it is empty'],
  ['no URL', () => 'code=abc', 'it is not a whole URL'],
  [
    'another address',
    (url) => changed(new URL(`https://evil.example/callback${url.search}`), {}).href,
    'it does not begin with http://127.0.0.1:',
  ],
  [
    'another path',
    (url) => url.href.replace('/callback', '/other'),
    'it does not begin with http://127.0.0.1:',
  ],
  ['a wrong state', (url) => changed(url, { state: 'x' }).href, 'its state does not match this sign-in'],
  ['no state', (url) => changed(url, { state: undefined }).href, 'it has no state'],
  ['no code', (url) => changed(url, { code: undefined }).href, 'it has neither code nor error'],
  ['the code twice', (url) => `${url.href}&code=x`, 'a parameter appears more than once'],
])('%s is refused with its reason and without the code', async (_name, change, reason) => {
  const login = await at.login(['--paste'], { stdin: null });
  const redirect = await redirectOf(login.authorizeUrl);
  login.program.stdin.end(`${change(redirect)}\n`);
  const { code, stdout, stderr } = await login.program.finished;
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toContain(`error: the pasted URL is not accepted: ${reason}`);
  expect(stderr).not.toContain(redirect.searchParams.get('code'));
  expect(at.exchanges()).toBe(0);
});

test('lines that are not the answer do not end the wait', async () => {
  const login = await at.login(['--paste'], { stdin: null });
  const redirect = await redirectOf(login.authorizeUrl);
  const forged = changed(redirect, { state: 'x', error: 'access_denied', code: undefined });
  login.program.stdin.write(`\nnot a URL\n${forged}\n`);
  await login.program.printed('stderr', /its state/);
  login.program.stdin.write(`${redirect}\n`);
  const { code, stdout, stderr } = await login.program.finished;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr.match(/^warning: .*$/gm)).toEqual([
    'warning: the pasted URL is not accepted: it is not a whole URL',
    'warning: the pasted URL is not accepted: its state does not match this sign-in (an old tab?); it has the error access_denied',
  ]);
  expect(stderr).not.toContain(redirect.searchParams.get('code'));
});

test.each([
  ['another issuer', 'https://evil.example', 'names the issuer https://evil.example, not http://127.0.0.1:'],
  ['no issuer', undefined, 'names no issuer, not http://127.0.0.1:'],
])('a pasted answer with our state and %s ends the sign-in', async (_name, iss, reason) => {
  const login = await at.login(['--paste'], { stdin: null });
  const { code, stderr } = await paste(login, (redirect) => changed(redirect, { iss }).href);
  expect(code).toBe(4);
  expect(stderr).toContain(`error: the answer to the sign-in ${reason}`);
  expect(stderr).toContain('--issuer');
  expect(at.exchanges()).toBe(0);
});

test('if nobody pastes a URL, the wait ends with 4', async () => {
  const { program } = await at.login(['--paste', '--timeout', '1'], { stdin: null });
  const { code, stderr } = await program.finished;
  expect(code).toBe(4);
  expect(stderr).toContain(
    'error: nobody signed in within 1 s\nnext: run the same command again (--timeout waits longer); if',
  );
});

test('a refusal in the pasted URL is reported as one', async () => {
  const login = await at.login(['--paste'], { stdin: null });
  const refused = { code: undefined, error: 'access_denied' };
  const { code, stderr } = await paste(login, (redirect) => changed(redirect, refused).href);
  expect(code).toBe(4);
  expect(stderr).toContain('error: the sign-in was refused: access_denied\n');
});

test('--issuer none accepts a redirect that names no issuer', async () => {
  const login = await at.login(['--paste', '--issuer', 'none'], { stdin: null });
  expect(await paste(login, (redirect) => changed(redirect, { iss: undefined }).href)).toMatchObject({
    code: 0,
  });
});

test('a signal ends the wait for the pasted URL', async () => {
  const { program } = await at.login(['--paste'], { stdin: null });
  program.kill('SIGINT');
  expect(await program.finished).toMatchObject({ code: 130 });
});
