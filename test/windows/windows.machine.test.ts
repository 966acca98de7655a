import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import { startHandler } from '../support/handler.ts';
import { API_TOKEN, duplicate, post } from '../support/listening.ts';
import { hasWindows, windowsNode } from '../support/machine/requirement.ts';
import { pack } from '../support/machine/tarball.ts';
import {
  createFolderOnC,
  createWindowsHome,
  exportedIds,
  keepOpen,
  onWindows,
  prepareWindows,
  runOnWindows,
  shareOnWindows,
  standIn,
  startOnWindows,
  startWindowsUser,
  type WindowsUser,
} from '../support/machine/windows.ts';
import { freePort } from '../support/ports.ts';

describe.skipIf(!hasWindows)('on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 300_000);

  describe('sign-in', () => {
    test('the demo signs in, lists and searches', async () => {
      await using home = await createWindowsHome();
      const { code, stdout, stderr } = await runOnWindows(['demo'], { env: home.env });
      expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in at http://127.0.0.1:')]);
      expect(stdout.match(/ {2}FAILED {2}/g)).toHaveLength(10);
    });

    test('a sign-in with the encrypted file keeps everything in AppData, and ends with logout', async () => {
      await using user = await startWindowsUser();
      const login = await user.signIn();
      expect([login.code, login.stdout]).toEqual([0, '']);
      const folder = path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail');
      expect(login.stderr).toContain(`secrets   ${onWindows(folder)}\\secrets\\default~`);
      expect(await readdir(folder)).toEqual(expect.arrayContaining(['config.json', 'secrets']));
      expect(await user.run(['events', 'count'])).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      const status = JSON.parse((await user.run(['status', '--json'])).stdout);
      expect(status).toMatchObject({ profile: 'default' });
      expect((await user.run(['logout'])).code).toBe(0);
      expect((await user.run(['events', 'count'])).code).toBe(4);
    });

    test('a sign-in with the Credential Manager is kept there', async () => {
      await using user = await startWindowsUser();
      const login = await user.signIn({ HOOKTRAIL_STORE: 'keychain' });
      expect([login.code, login.stderr]).toEqual([
        0,
        expect.stringContaining('the Windows Credential Manager'),
      ]);
      const env = { ...user.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_CLIENT_SECRET: '' };
      expect(await user.run(['events', 'count'], { env })).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      expect((await user.run(['logout'], { env })).code).toBe(0);
      expect((await user.run(['events', 'count'], { env })).code).toBe(4);
    });
  });

  describe('files', () => {
    test('an export that was ended continues, in a folder with spaces and accents', async () => {
      await using user = await startWindowsUser({ events: 3000 });
      await user.signIn();
      user.sandbox.control.behaviour.latencyMs = 100;
      const folder = path.join(user.home.folder, 'Müllers Export – Nr. 1');
      const words = ['events', 'export', onWindows(folder), '--page-size', '50'];
      const first = await startOnWindows(words, { env: user.env });
      const pages = () => user.sandbox.log.filter(({ url }) => url.includes('integrator-events')).length;
      await expect.poll(pages, { timeout: 30_000 }).toBeGreaterThan(15);
      await first.kill();
      await first.finished;
      user.sandbox.control.behaviour.latencyMs = 0;
      const second = await user.run(words);
      expect([second.code, second.stderr]).toEqual([0, expect.stringContaining('3000 events')]);
      expect((await exportedIds(folder)).toSorted()).toEqual(
        user.sandbox.control.store.newestIds(3000).toSorted(),
      );
    });

    const settings = (user: WindowsUser) =>
      path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail', 'config.json');

    test('settings that another program keeps open stay unchanged, and the error says so', async () => {
      await using user = await startWindowsUser();
      expect(await user.run(['config', 'set', 'vendor', 'first'])).toMatchObject({ code: 0 });
      const holder = await keepOpen(settings(user));
      expect(await user.run(['config', 'set', 'vendor', 'second'])).toEqual({
        code: 2,
        stdout: '',
        stderr:
          `error: the settings cannot be written to ${onWindows(settings(user))}: it cannot be replaced, perhaps because another program has it open (EPERM)\n` +
          'next: make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR\n',
      });
      expect(await readFile(settings(user), 'utf8')).toContain('first');
      await holder.kill();
      await holder.finished;
    });

    test('settings that another program closes within a second are replaced', async () => {
      await using user = await startWindowsUser();
      expect(await user.run(['config', 'set', 'vendor', 'first'])).toMatchObject({ code: 0 });
      const holder = await keepOpen(settings(user));
      const second = await startOnWindows(['config', 'set', 'vendor', 'second'], { env: user.env });
      const waiting = async () =>
        (await readdir(path.dirname(settings(user)))).some((name) => name.endsWith('.tmp'));
      await expect.poll(waiting, { timeout: 20_000, interval: 10 }).toBe(true);
      await holder.kill();
      const saved = { code: 0, stdout: '', stderr: "saved vendor in profile 'default'\n" };
      expect(await second.finished).toEqual(saved);
      expect(await readFile(settings(user), 'utf8')).toContain('second');
    });

    test('a listener that was ended has acknowledged nothing that its journal lacks', async () => {
      await using user = await startWindowsUser({ events: 0 });
      await user.signIn();
      await using handler = await startHandler();
      const port = await freePort();
      const env = { ...user.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
      const to = ['--forward-to', handler.url, '--journal', 'events.journal'];
      const words = ['webhooks', 'listen', '--port', String(port), ...to];
      const deliver = (body: string) =>
        post(port, body).then(
          ({ status }) => status,
          () => undefined,
        );
      const listen = async () => {
        const listener = await startOnWindows(words, { env });
        await listener.printed('stderr', /listening on/);
        return listener;
      };
      const events = Array.from({ length: 300 }, () =>
        user.sandbox.control.addEvent({ publishStatus: 'FAILED' }),
      );
      const first = await listen();
      const acknowledged: string[] = [];
      const sending = (async () => {
        for (const { eventId, json } of events) if ((await deliver(json)) === 200) acknowledged.push(eventId);
      })();
      await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(20);
      await first.kill();
      await Promise.all([first.finished, sending]);
      expect(acknowledged.length).toBeLessThan(300);

      const second = await listen();
      for (const { eventId, json } of events)
        if (acknowledged.includes(eventId)) expect(await deliver(json)).toBe(200);
      for (const eventId of acknowledged) expect([eventId, handler.taken.get(eventId)]).toEqual([eventId, 1]);

      // The listener that has the journal takes the events through its named pipe.
      expect(await user.run(['webhooks', 'recover', '--after', '1h', ...to], { env })).toMatchObject({
        code: 0,
      });
      await second.kill();
      await second.finished;
      expect(handler.taken.size).toBe(300);
      for (const eventId of acknowledged) expect(handler.taken.get(eventId)).toBe(1);
    });
  });

  describe('a path', () => {
    // The beginnings of the paths: the test's folder, written in different ways.
    test.each([
      [
        'on a share',
        async (home: string) => {
          const share = await shareOnWindows(home);
          return [home, `${share}\\`] as const;
        },
      ],
      [
        'on drive C:',
        async () => {
          const [folder, spelled] = await createFolderOnC();
          return [folder, `${spelled}\\`] as const;
        },
      ],
      ['relative to the folder of a drive', async (home: string) => [home, 'Z:'] as const],
    ])('%s is taken by every flag and variable that takes one', async (_name, place) => {
      await using user = await startWindowsUser({ events: 5 });
      await using handler = await startHandler();
      const [folder, start] = await place(user.home.folder);
      const read = (name: string) => readFile(path.join(folder, name), 'utf8');
      const env = {
        ...user.env,
        HOOKTRAIL_PASSPHRASE: '',
        HOOKTRAIL_PASSPHRASE_FILE: `${start}key`,
        HOOKTRAIL_CONFIG_DIR: `${start}settings`,
        HOOKTRAIL_API_TOKEN: 's3cret',
      };
      const done = async (...words: string[]) => {
        const { code, stderr, stdout } = await user.run(words, { env });
        expect([words, code, stderr]).toEqual([words, 0, expect.any(String)]);
        return stdout;
      };

      await done('keygen', `${start}key`);
      expect(await read('key')).toMatch(/^htk1-/);
      expect((await user.signIn(env)).code).toBe(0);
      expect(await readdir(path.join(folder, 'settings'))).toContain('config.json');

      await done('events', 'export', `${start}out`);
      expect(await exportedIds(path.join(folder, 'out'))).toHaveLength(5);
      const search = ['--from', `${start}out`, '--ndjson', '--output-file', `${start}found.ndjson`];
      await done('events', 'search', ...search);
      expect((await read('found.ndjson')).trim().split('\n')).toHaveLength(5);
      await done('events', 'report', '--from', `${start}found.ndjson`, `${start}report.html`);
      expect(await read('report.html')).toMatch(/^<!doctype html>/i);
      const watch = ['--since', '30d', '--count', '5', '--fields', 'eventId', '--ndjson'];
      const printed = await done('events', 'watch', ...watch, '--state', `${start}state`);
      expect(printed.trim().split('\n')).toHaveLength(5);
      expect(await read('state')).toContain('"');

      const to = ['--forward-to', handler.url];
      const recover = ['--since', '30d', '--journal', `${start}events.journal`, '--new-journal'];
      await done('webhooks', 'recover', ...recover, ...to);
      expect(handler.taken.size).toBe(5);
      expect(await read('events.journal')).toMatch(/^# hooktrail journal.*\n([0-9a-f]{32} \d+\n){5}/);
      await writeFile(path.join(folder, 'body.json'), '{"sent":true}');
      await done('webhooks', 'send', '--type', 'invoice.paid', '--body', `${start}body.json`, ...to);
      expect(handler.received.at(-1)?.body.toString()).toContain('"sent":true');
    });

    test('is longer than 260 characters', async () => {
      await using user = await startWindowsUser({ events: 5 });
      await user.signIn();
      const deep = path.join(user.home.folder, ...Array.from({ length: 6 }, (_, at) => `${at}`.repeat(50)));
      await mkdir(deep, { recursive: true });
      const report = path.join(deep, 'report.html');
      expect(report.length).toBeGreaterThan(260);
      expect(await user.run(['events', 'report', onWindows(report)])).toMatchObject({ code: 0 });
      expect(await readFile(report, 'utf8')).toMatch(/^<!doctype html>/i);
      const folder = path.join(deep, 'export');
      expect(await user.run(['events', 'export', onWindows(folder)])).toMatchObject({ code: 0 });
      expect(await exportedIds(folder)).toHaveLength(5);
    });

    describe('in a folder that the user may not write to', () => {
      async function denied(user: WindowsUser): Promise<string> {
        const folder = path.join(user.home.folder, 'denied');
        await mkdir(folder);
        await chmod(folder, 0o500);
        return onWindows(folder);
      }

      test('settings stay as they are, and doctor says so', async () => {
        await using user = await startWindowsUser();
        const folder = await denied(user);
        const env = { ...user.env, HOOKTRAIL_CONFIG_DIR: folder };
        expect(await user.run(['config', 'set', 'vendor', 'first'], { env })).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(
            `error: the settings cannot be written to ${folder}\\config.json: operation not permitted (EPERM)`,
          ),
        });
        expect(await user.run(['doctor'], { env })).toMatchObject({
          code: 1,
          stdout: expect.stringContaining(`broken    configuration     ${folder} is not writable (EPERM)\n`),
        });
      });
    });
  });

  describe('the browser', () => {
    /** Decodes the command that PowerShell gets, which is encoded to make every character safe. */
    const decoded = (commandLine: string | undefined) => {
      const [, prefix, encoded = ''] = commandLine?.match(/powershell\.exe"? (.*) (\S+)$/) ?? [];
      return [prefix, Buffer.from(encoded, 'base64').toString('utf16le')];
    };
    const powershell = async (folder: string) =>
      await standIn(path.join(folder, 'System32', 'WindowsPowerShell', 'v1.0', 'powershell.exe'));

    test('PowerShell opens the whole URL', async () => {
      await using user = await startWindowsUser();
      const { folder } = user.home;
      const shell = await powershell(folder);
      const env = { ...user.env, ...shell.env(0), HOOKTRAIL_TEST_SYSTEMROOT: onWindows(folder) };
      const login = await startOnWindows(['login'], { env });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      await expect.poll(shell.commandLine, { timeout: 20_000 }).toMatch(/=$|\w$/);
      expect(url).toMatch(/%3A%2F%2F.*&/);
      expect(decoded(await shell.commandLine())).toEqual([
        '-NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand',
        `$ProgressPreference = 'SilentlyContinue'; Start '${url}'`,
      ]);
      await visit(url);
      const { code, stderr } = await login.finished;
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('could not be started')]);
    });

    test('HOOKTRAIL_BROWSER may be a batch file', async () => {
      await using user = await startWindowsUser();
      const program = path.join(import.meta.dirname, '../support/print-words.cjs');
      const file = path.join(user.home.folder, 'browser.cmd');
      const record = path.join(user.home.folder, 'words');
      const node = onWindows(windowsNode);
      await writeFile(file, `@"${node}" "${onWindows(program)}" %* > "${onWindows(record)}"\r\n`);
      const env = { ...user.env, HOOKTRAIL_BROWSER: onWindows(file) };
      const login = await startOnWindows(['login'], { env });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      const words = () => readFile(record, 'utf8').catch(() => '');
      await expect.poll(words, { timeout: 20_000 }).toMatch(/\]/);
      // Wine's cmd.exe treats percent signs differently from that of Windows.
      const [plain = ''] = url.split('%');
      expect(plain).toContain('&');
      expect(JSON.parse(await words())).toEqual([expect.stringContaining(plain)]);
      await visit(url);
      expect(await login.finished).toMatchObject({ code: 0 });
    });
  });
  describe("npm's batch file", () => {
    /**
     * Installs the package as npm does on Windows. Returns the folder of the programs and the path that the user has.
     */
    const install = async () => {
      const home = await createWindowsHome();
      await using tarball = await pack();
      const { stdout } = await promisify(execFile)('npm', ['root', '--global']);
      const bin = path.join(home.folder, 'npm bin');
      const to = ['--prefix', onWindows(bin), '--cache', onWindows(path.join(home.folder, 'npm-cache'))];
      const quiet = ['--offline', '--omit=optional', '--no-audit', '--no-fund'];
      const npm = path.join(stdout.trim(), 'npm', 'bin', 'npm-cli.js');
      const { code } = await runOnWindows(
        [onWindows(npm), 'install', '--global', ...quiet, ...to, onWindows(tarball.file)],
        { env: home.env, executable: onWindows(windowsNode) },
      );
      expect(code).toBe(0);
      const env = {
        ...home.env,
        PATH: [onWindows(bin), onWindows(path.dirname(windowsNode)), 'C:\\windows\\system32'].join(';'),
      };
      const file = path.join(bin, 'hooktrail.cmd');
      // It ends its own reading by a jump to nowhere, with which Wine's cmd.exe ends the line too.
      const jump = 'goto #_undefined_# 2>NUL || title %COMSPEC% & ';
      const text = await readFile(file, 'utf8');
      expect(text).toContain(`${jump}"%_prog%"  "%dp0%\\node_modules\\hooktrail\\bin\\hooktrail.js" %*\r\n`);
      await writeFile(file, text.replace(jump, ''));
      return { bin, file, env, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
    };

    test('runs hooktrail, also as the command of a sandbox, with the words that it was given', async () => {
      await using at = await install();
      const words = ['sandbox', '--events', '10', '--', 'hooktrail', 'events', 'count', '--failed'];
      expect(await runOnWindows(words, { env: at.env })).toEqual({ code: 0, stdout: '2\n', stderr: '' });
      const refused = ['sandbox', '--events', '0', '--', 'hooktrail', 'events', 'count', '--status', 'NONE'];
      expect(await runOnWindows(refused, { env: at.env })).toMatchObject({ code: 2 });

      const program = path.join(at.bin, 'node_modules', 'words.cjs');
      await copyFile(path.join(import.meta.dirname, '../support/print-words.cjs'), program);
      const shim = await readFile(at.file, 'utf8');
      await writeFile(
        path.join(at.bin, 'words.cmd'),
        shim.replace('hooktrail\\bin\\hooktrail.js', 'words.cjs'),
      );
      // Contains no percent sign, which Wine's cmd.exe treats differently from that of Windows.
      const given = ['two words', 'a"b', 'a&b|c>d', '^', '!x!', 'C:\\dir\\', '(1,2)', "it's", 'ü'];
      const printed = await runOnWindows(['sandbox', '--events', '0', '--', 'words', ...given], {
        env: at.env,
      });
      expect([printed.code, JSON.parse(printed.stdout)]).toEqual([0, given]);
    });
  });

  describe('a person at the console', () => {
    const endings = [
      ['Ctrl-C', 130],
      ['Ctrl-Break', 130],
      ['close', 143],
    ] as const;

    test.each(endings.slice(0, 2))('%s ends a sign-in that waits', async (event, code) => {
      await using user = await startWindowsUser();
      const login = await startOnWindows(['login', '--no-browser'], { env: user.env });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      await login.send(event);
      expect(await login.finished).toEqual({
        code,
        stdout: '',
        stderr: `Sign in in a browser at\n${url}\n`,
      });
      expect((await user.run(['events', 'count'])).code).toBe(4);
    });

    async function startListener(user: WindowsUser, handler: string) {
      const port = await freePort();
      const to = ['--forward-to', handler, '--journal', 'events.journal'];
      const program = await startOnWindows(['webhooks', 'listen', '--port', String(port), ...to], {
        env: { ...user.env, HOOKTRAIL_API_TOKEN: API_TOKEN },
      });
      await program.printed('stderr', /listening on/);
      return { program, send: (body: string) => post(port, body) };
    }

    test.each(endings)('%s ends a listener once its handler has answered', async (event, code) => {
      await using user = await startWindowsUser({ events: 0 });
      await using handler = await startHandler();
      const answer = handler.hold();
      const listener = await startListener(user, handler.url);
      const sent = listener.send('{"eventId":"a"}');
      await expect.poll(() => handler.received.length).toBe(1);
      await listener.program.send(event);
      await listener.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
      answer(200);
      expect((await sent).status).toBe(200);
      const ended = await listener.program.finished;
      expect([ended.code, ended.stdout]).toEqual([code, '{"eventId":"a"}\n']);

      const second = await startListener(user, handler.url);
      expect(await second.send('{"eventId":"a"}')).toMatchObject(duplicate);
      expect(handler.received).toHaveLength(1);
      await second.program.kill();
      await second.program.finished;
    });

    test('a second Ctrl-C ends the waiting program at once', async () => {
      await using user = await startWindowsUser({ events: 0 });
      await using handler = await startHandler();
      handler.answer = () => new Promise(() => undefined);
      const listener = await startListener(user, handler.url);
      const sent = listener.send('{"eventId":"a"}').then(
        ({ status }) => status,
        () => 'no answer',
      );
      await expect.poll(() => handler.received.length).toBe(1);
      await listener.program.send('Ctrl-C');
      await listener.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
      // Those within 250 ms of the first count as the same one.
      const again = setInterval(() => void listener.program.send('Ctrl-C'), 100);
      const ended = await listener.program.finished.finally(() => clearInterval(again));
      expect(ended.code).toBe(130);
      expect(await sent).toBe('no answer');
    });

    test.each(endings)('%s reaches the program of a sandbox, whose exit code counts', async (event) => {
      await using home = await createWindowsHome();
      const script = `
      for (const name of ['SIGINT', 'SIGBREAK', 'SIGHUP']) process.on(name, () => setTimeout(() => process.exit(41), 300));
      setInterval(() => {}, 1000);
      console.log('ready');`;
      const words = ['sandbox', '--events', '0', '--', onWindows(windowsNode), '-e', script];
      const program = await startOnWindows(words, { env: home.env });
      await program.printed('stdout', /ready/);
      await program.send(event);
      expect(await program.finished).toMatchObject({ code: 41, stdout: 'ready\n' });
    });
  });
});
