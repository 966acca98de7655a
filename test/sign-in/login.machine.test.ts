import { describe, expect, test } from 'vitest';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { hasTerminal, startOnTerminal, startShell } from '../support/machine/terminal.ts';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const enter = '\r';
const shownUrl = /^(http\S+\/connect\/authorize\?\S+)\r$/m;

describe.skipIf(!hasTerminal)('on a terminal', () => {
  test('after Ctrl+D at the question for a URL, login still waits for the browser', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env, columns: 200 });
    const [, url] = await terminal.shows(shownUrl);
    await terminal.shows(/paste its address here: /);
    terminal.type('\x04');
    await terminal.shows(/addresses can no longer be pasted; login waits for the browser \(Ctrl-C ends it\)/);
    await visit(url as string);
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).toContain('Signed in at');
  });

  test('login asks for what is missing, repeats the question after an invalid answer, and hides the secret', async () => {
    const { authUrl, baseUrl, clientId, clientSecret, vendor } = at.sandbox.settings;
    const env = { ...at.home.env, HOOKTRAIL_REDIRECT_URI: at.redirectUri };
    const terminal = startOnTerminal(['login', '--no-browser'], { env, columns: 200 });
    await terminal.shows(/Identity provider \(--auth-url\)/);
    terminal.type(`ftp://id.example${enter}`);
    await terminal.shows(/invalid value 'ftp:\/\/id\.example': must be an https: URL/);
    // Ctrl+U clears the line.
    terminal.type(`\x15${authUrl}${enter}`);
    await terminal.shows(/Event service \(--base-url\)/);
    terminal.type(`${baseUrl}${enter}`);
    await terminal.shows(/Client id \(--client-id\)/);
    terminal.type(`${clientId}${enter}`);
    await terminal.shows(/Vendor of the media type \(--vendor\)/);
    terminal.type(`${vendor}${enter}`);
    await terminal.shows(/Client secret/);
    terminal.type(`${clientSecret}${enter}`);
    const [, url] = await terminal.shows(shownUrl);
    await visit(url as string);
    await terminal.shows(/^\x1b\[32mSigned in at http\S+\x1b\[39m\r$/m);
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).not.toContain(clientSecret);
    expect((await at.run(['token'], { env: at.home.env })).code).toBe(0);
  });

  test('a question that is suspended takes its answer after fg, and Ctrl-C; a hidden one too', async () => {
    const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
    const shell = startShell({ env: at.home.env, columns: 200 });
    shell.type(
      `${shell.command(['login', '--base-url', baseUrl, '--client-id', clientId, '--vendor', vendor])}\n`,
    );
    for (const [question, answer] of [
      [/Identity provider \(--auth-url\), such as \S+: /, authUrl],
      [/Client secret: /, '\x03'],
    ] as const) {
      await shell.shows(question);
      shell.type('\x1a');
      await shell.shows(/Stopped/);
      shell.type('fg\n');
      await shell.shows(question);
      shell.type(`${answer}${enter}`);
    }
    await shell.shows(/your answers are saved/);
    shell.type('exit $?\n');
    expect(await shell.finished).toBe(130);
  });

  test('the passphrase of the encrypted file is asked for once per command', async () => {
    const passphrase = 'correct horse';
    const { HOOKTRAIL_PASSPHRASE: _, ...env } = at.env;
    await at.run(['login'], { env: { ...env, HOOKTRAIL_PASSPHRASE: passphrase } });
    const terminal = startOnTerminal(['status', '--check'], { env });
    await terminal.shows(/Passphrase of the encrypted file/);
    terminal.type(`${passphrase}${enter}`);
    await terminal.shows(/the service accepts the token/);
    expect(await terminal.finished).toBe(0);
  });

  test('a passphrase may be mistyped twice', async () => {
    const passphrase = 'correct horse';
    const { HOOKTRAIL_PASSPHRASE: _, ...env } = at.env;
    await at.run(['login'], { env: { ...env, HOOKTRAIL_PASSPHRASE: passphrase } });
    for (const [typed, code] of [
      [['wrong', 'wrong again', passphrase], 0],
      [['wrong', 'wrong again', 'and again'], 2],
    ] as const) {
      const terminal = startOnTerminal(['token'], { env, columns: 200 });
      for (const text of typed) {
        await terminal.shows(/Passphrase of the encrypted file: /);
        terminal.type(`${text}${enter}`);
      }
      expect(await terminal.finished).toBe(code);
      expect(terminal.screen.match(/that passphrase does not open the file/g)).toHaveLength(2);
    }
  });

  test('a URL that is pasted while the listener waits signs in, and a wrong one does not end the wait', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env, columns: 200 });
    const [, url] = await terminal.shows(shownUrl);
    const redirect = await redirectOf(url as string);
    await terminal.shows(/If the browser's last page does not load, paste its address here/);
    terminal.type(`${changed(redirect, { state: 'x' })}${enter}`);
    await terminal.shows(/That URL is not accepted: its state does not match this sign-in/);
    terminal.type(`${redirect}${enter}`);
    await terminal.shows(/Signed in at/);
    expect(await terminal.finished).toBe(0);
  });

  test('of several lines that are pasted at once, the redirected URL signs in', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env, columns: 200 });
    const [, url] = await terminal.shows(shownUrl);
    const redirect = await redirectOf(url as string);
    await terminal.shows(/paste its address here: /);
    terminal.type(`This site can't be reached${enter}${enter}${redirect}${enter}more${enter}`);
    await terminal.shows(/Signed in at/);
    expect(await terminal.finished).toBe(0);
  });

  test('a redirect that arrives while a URL is typed signs in, and the terminal is restored', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env, columns: 200 });
    const [, url] = await terminal.shows(shownUrl);
    await terminal.shows(/paste its address here/);
    terminal.type('http://127.0.0.1');
    await visit(url as string);
    await terminal.shows(/Signed in at/);
    expect(await terminal.finished).toBe(0);
  });

  test('control characters of the provider are inert on the terminal', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env });
    const [, url] = await terminal.shows(shownUrl);
    const hostile = {
      code: undefined,
      error: 'x\x1b]0;owned\x07\nnext: forged',
      error_description: 'a\x1b[2Jb\u202ec\x9b',
    };
    await visit(changed(await redirectOf(url as string), hostile));
    expect(await terminal.finished).toBe(4);
    expect(terminal.screen).toContain('the sign-in was refused: x\\u001b]0;owned\\u0007\\u000anext: forged');
    expect(terminal.screen).toContain('a\\u001b[2Jb\\u202ec\\u009b');
    expect(terminal.screen).not.toContain('\x1b]0;owned');
    expect(terminal.screen).not.toContain('\x1b[2J');
  });

  test('control characters of a foreign issuer are inert in the error', async () => {
    const terminal = startOnTerminal(['login', '--no-browser'], { env: at.env, columns: 200 });
    const [, url] = await terminal.shows(shownUrl);
    await visit(changed(await redirectOf(url as string), { iss: 'https://x\x1b[2J\nerror: forged' }));
    await terminal.shows(/names the issuer https:\/\/x\\u001b\[2J\\u000aerror: forged, not http/);
    expect(await terminal.finished).toBe(4);
  });

  test.each<[string, string[], Record<string, string>]>([
    ['--no-color', ['--no-color'], {}],
    ['NO_COLOR', [], { NO_COLOR: '1' }],
  ])('%s keeps questions without colour', async (_name, args, variables) => {
    const terminal = startOnTerminal(['login', ...args], { env: { ...at.home.env, ...variables } });
    await terminal.shows(/Identity provider/);
    terminal.type(`nonsense${enter}`);
    await terminal.shows(/invalid value/);
    terminal.type('\x03');
    expect(await terminal.finished).toBe(130);
    expect(terminal.screen).not.toMatch(/\x1b\[[\d;]*m/);
  });

  test('without colour only text is written while waiting', async () => {
    const terminal = startOnTerminal(['login', '--no-browser', '--no-color'], {
      env: { ...at.env, TERM: 'dumb' },
    });
    const [, url] = await terminal.shows(shownUrl);
    await visit(url as string);
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).not.toContain('\x1b');
  });
});
