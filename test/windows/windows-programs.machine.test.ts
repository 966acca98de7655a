import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import { hasWindows, windowsNode } from '../support/requirement.ts';
import { pack } from '../support/tarball.ts';
import {
  createWindowsHome,
  onWindows,
  prepareWindows,
  runOnWindows,
  standIn,
  startOnWindows,
  startWindowsUser,
} from '../support/windows.ts';

describe.skipIf(!hasWindows)('programs on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 300_000);

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

    test('login warns that PowerShell could not open it', async () => {
      await using user = await startWindowsUser();
      const { folder } = user.home;
      const shell = await powershell(folder);
      const env = { ...user.env, ...shell.env(1), HOOKTRAIL_TEST_SYSTEMROOT: onWindows(folder) };
      const login = await startOnWindows(['login'], { env });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      await login.printed('stderr', /^warning: the browser could not be started: its command ended with 1$/m);
      await visit(url);
      expect(await login.finished).toMatchObject({ code: 0 });
    });

    test('HOOKTRAIL_BROWSER gets the whole URL', async () => {
      await using user = await startWindowsUser();
      const file = path.join(user.home.folder, 'Program Files', 'browser.exe');
      const browser = await standIn(file);
      const env = { ...user.env, ...browser.env(0), HOOKTRAIL_BROWSER: onWindows(file) };
      const login = await startOnWindows(['login'], { env });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      await expect.poll(browser.commandLine, { timeout: 20_000 }).toBe(`"${onWindows(file)}" ${url}`);
      await visit(url);
      expect(await login.finished).toMatchObject({ code: 0 });
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
      expect(await runOnWindows(words, { env: at.env })).toEqual({ code: 0, stdout: '1\n', stderr: '' });
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
});
