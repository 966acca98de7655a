import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../support/command.ts';
import { createHome, type Home } from '../support/home.ts';

const completion = (home: Home, ...args: string[]) =>
  run(['completion', ...args], { env: { ...home.env, SHELL: '/usr/bin/bash' } });
const scriptOf = (name: string) =>
  readFile(path.join(import.meta.dirname, '../../completions', name), 'utf8');

test.each([
  ['bash', '.local/share/hooktrail/hooktrail.bash', '.bashrc', 'hooktrail.bash'],
  ['zsh', '.local/share/hooktrail/hooktrail.zsh', '.zshrc', 'hooktrail.zsh'],
  [
    'powershell',
    '.local/share/hooktrail/hooktrail.ps1',
    '.config/powershell/Microsoft.PowerShell_profile.ps1',
    'hooktrail.ps1',
  ],
])('%s: what --install writes, --uninstall takes out', async (shell, script, startup, name) => {
  await using home = await createHome();
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
  expect(lines).toContain(scriptFile);
  // Once more changes nothing.
  await completion(home, shell, '--install');
  expect(await readFile(startupFile, 'utf8')).toBe(lines);
  expect(await completion(home, shell, '--uninstall')).toEqual({
    code: 0,
    stdout: '',
    stderr: `removed lines from ${startupFile}\nremoved ${scriptFile}\n`,
  });
  expect(await readFile(startupFile, 'utf8')).toBe('mine=1\n');
  expect((await completion(home, shell, '--uninstall')).stderr).toBe(`nothing is installed for ${shell}\n`);
});

test('fish has a folder of its own for completions', async () => {
  await using home = await createHome();
  const file = path.join(home.folder, '.config/fish/completions/hooktrail.fish');
  const { stderr } = await completion(home, 'fish', '--install');
  expect(stderr).toBe(`wrote ${file}\nopen a new fish to use it\n`);
  expect((await completion(home, 'fish', '--uninstall')).stderr).toBe(`removed ${file}\n`);
});

test('the shell is that of $SHELL, and a linked startup file stays a link with its mode', async () => {
  await using home = await createHome();
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

test('without a shell it says which there are', async () => {
  await using home = await createHome();
  expect(await run(['completion'], { env: home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: the shell is missing\nnext: name one: bash, zsh, fish, powershell\n',
  });
});
