import fs, { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome, type Home } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

const completion = (home: Home, ...args: string[]) =>
  hooktrail(['completion', ...args], { env: { ...home.env, SHELL: '/usr/bin/bash' } });
const scriptOf = (name: string) =>
  readFile(path.join(import.meta.dirname, '../../completions', name), 'utf8');

const home = forEachTest(createHome);

test.each([
  ['bash', '.local/share/hooktrail/hooktrail.bash', '.bashrc', 'hooktrail.bash'],
  ['zsh', '.local/share/hooktrail/hooktrail.zsh', '.zshrc', 'hooktrail.zsh'],
  [
    'powershell',
    '.config/powershell/hooktrail.ps1',
    '.config/powershell/Microsoft.PowerShell_profile.ps1',
    'hooktrail.ps1',
  ],
])('%s: --uninstall removes what --install wrote', async (shell, script, startup, name) => {
  const [scriptFile, startupFile] = [path.join(home.folder, script), path.join(home.folder, startup)];
  await mkdir(path.dirname(startupFile), { recursive: true });
  await writeFile(startupFile, 'mine=1');
  const installed = await completion(home, shell, '--install');
  expect(installed).toEqual({
    code: 0,
    stdout: '',
    stderr: `wrote ${scriptFile}\nadded lines to ${startupFile}\nopen a new ${shell} to use it\n`,
  });
  expect(await readFile(scriptFile, 'utf8')).toBe(await scriptOf(name));
  const lines = await readFile(startupFile, 'utf8');
  expect(lines).toMatch(
    /^mine=1\n# >>> hooktrail completion >>>\n[\s\S]*\n# <<< hooktrail completion <<<\n$/,
  );
  expect(lines).toContain(shell === 'powershell' ? '"$PSScriptRoot/hooktrail.ps1"' : scriptFile);
  // A second time changes nothing.
  await completion(home, shell, '--install');
  expect(await readFile(startupFile, 'utf8')).toBe(lines);
  expect(await completion(home, shell, '--uninstall')).toEqual({
    code: 0,
    stdout: '',
    stderr: `removed lines from ${startupFile}\nremoved ${scriptFile}\n`,
  });
  expect(await readFile(startupFile, 'utf8')).toBe('mine=1\n');
  expect(existsSync(path.dirname(scriptFile))).toBe(shell === 'powershell');
  expect((await completion(home, shell, '--uninstall')).stderr).toBe(`nothing is installed for ${shell}\n`);
});

test('fish has a separate folder for completions', async () => {
  const file = path.join(home.folder, '.config/fish/completions/hooktrail.fish');
  const { stderr } = await completion(home, 'fish', '--install');
  expect(stderr).toBe(`wrote ${file}\nopen a new fish to use it\n`);
  expect((await completion(home, 'fish', '--uninstall')).stderr).toBe(`removed ${file}\n`);
});

test('the shell is that of $SHELL, and a linked startup file stays a link with its mode', async () => {
  const dotfile = path.join(home.folder, 'dotfiles-bashrc');
  await writeFile(dotfile, '');
  await chmod(dotfile, 0o644);
  await symlink(dotfile, path.join(home.folder, '.bashrc'));
  expect((await completion(home, '--install')).code).toBe(0);
  expect((await completion(home, '--uninstall')).code).toBe(0);
  expect((await lstat(path.join(home.folder, '.bashrc'))).isSymbolicLink()).toBe(true);
  expect((await stat(dotfile)).mode & 0o777).toBe(0o644);
  expect(await readFile(dotfile, 'utf8')).toBe('');
});

test('bash on macOS reads ~/.bash_profile', async () => {
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  const { stderr } = await hooktrail(['completion', 'bash', '--install'], {
    env: home.env,
    context: { machine },
  });
  expect(stderr).toContain(`added lines to ${path.join(home.folder, '.bash_profile')}\n`);
});

describe('on Windows', () => {
  const PROFILE = 'Microsoft.PowerShell_profile.ps1';
  const SYSTEM =
    'C:\\Program Files\\WindowsPowerShell\\Modules;C:\\WINDOWS\\system32\\WindowsPowerShell\\v1.0\\Modules';

  const onWindows = (home: Home, modules: string, ...args: string[]) =>
    hooktrail(['completion', 'powershell', ...args], {
      env: { ...home.env, PSModulePath: modules },
      context: { machine: { ...thisMachine(), platform: 'win32', userHome: home.folder } },
    });

  test.each([
    [
      'Windows PowerShell',
      'Documents/WindowsPowerShell',
      (home: string) => `${home}/Documents/WindowsPowerShell/Modules;${SYSTEM}`,
    ],
    [
      'PowerShell 7 with Documents in OneDrive',
      'OneDrive/Documents/PowerShell',
      (home: string) => `${home}/OneDrive/Documents/PowerShell/Modules;${SYSTEM}`,
    ],
    ['another shell', 'Documents/PowerShell', () => SYSTEM],
    ['another shell, without the variable', 'Documents/PowerShell', () => ''],
  ])('%s: --install writes the profile that it reads', async (_, folder, modules) => {
    const [script, profile] = ['hooktrail.ps1', PROFILE].map((name) => path.join(home.folder, folder, name));
    expect((await onWindows(home, modules(home.folder), '--install')).stderr).toBe(
      `wrote ${script}\nadded lines to ${profile}\nopen a new powershell to use it\n`,
    );
    expect((await onWindows(home, modules(home.folder), '--uninstall')).stderr).toBe(
      `removed lines from ${profile}\nremoved ${script}\n`,
    );
  });

  test.each([
    ['in UTF-16, as Windows PowerShell writes it', 'utf16le', '\ufeffSet-Alias a b\r\n'],
    ['with the line ends of Windows', 'utf8', 'Set-Alias a b\r\n'],
  ] as const)('a profile %s stays so', async (_, encoding, mine) => {
    const profile = path.join(home.folder, 'Documents/PowerShell', PROFILE);
    await mkdir(path.dirname(profile), { recursive: true });
    await writeFile(profile, mine, encoding);
    await onWindows(home, '', '--install');
    const text = await readFile(profile, encoding);
    expect(text.startsWith(`${mine}# >>> hooktrail completion >>>\nif (Test-Path `)).toBe(true);
    // An editor may have changed all line ends.
    await writeFile(profile, text.replaceAll(/\r?\n/g, '\r\n'), encoding);
    await onWindows(home, '', '--install');
    await onWindows(home, '', '--uninstall');
    expect(await readFile(profile, encoding)).toBe(mine);
  });
});

test.each([
  ['a-file', 'not a directory (ENOTDIR)', 'check the path: a part of it is not a folder'],
  // Nobody, not even root, makes a folder there.
  ['/proc/none', 'no such file or directory (ENOENT)', 'check the path: a part of it is missing'],
])('a home that cannot be written, %s, is said as it is', async (name, why, next) => {
  await writeFile(path.join(home.folder, 'a-file'), '');
  const folder = path.resolve(home.folder, name);
  const { code, stderr } = await hooktrail(['completion', 'bash', '--install'], {
    env: { ...home.env, HOME: folder },
    cwd: home.folder,
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: mkdir /);
  expect(stderr.slice(stderr.indexOf(': ', 8))).toBe(`: ${why}\nnext: ${next}\n`);
});

test('a file that cannot be written is named, and what was written before it', async () => {
  const [script, startup] = ['.local/share/hooktrail/hooktrail.bash', '.bashrc'].map((name) =>
    path.join(home.folder, name),
  ) as [string, string];
  const { open } = fs.promises;
  for (const [full, wrote] of [
    [script, ''],
    [startup, `wrote ${script}\n`],
  ] as const) {
    const opening = vi.spyOn(fs.promises, 'open').mockImplementation((file, ...rest) => {
      if (!String(file).startsWith(full)) return open(file, ...rest);
      const message = 'ENOSPC: no space left on device, write';
      return Promise.reject(Object.assign(new Error(message), { code: 'ENOSPC', syscall: 'write' }));
    });
    onTestFinished(() => opening.mockRestore());
    expect(await completion(home, 'bash', '--install')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${wrote}error: write '${full}': no space left on device (ENOSPC)\nnext: free some space, and run the command again\n`,
    });
    opening.mockRestore();
  }
});
