import { existsSync } from 'node:fs';
import { chmod, readFile, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { faultText, UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { encodingOf, replaceFile } from '../files/whole-files.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { quotedWord } from '../shell-words.ts';

const files = {
  bash: 'hooktrail.bash',
  zsh: 'hooktrail.zsh',
  fish: 'hooktrail.fish',
  powershell: 'hooktrail.ps1',
} as const;
type Shell = keyof typeof files;
const shells = Object.keys(files) as Shell[];

interface Flags {
  readonly install?: true;
  readonly uninstall?: true;
}

export const help = `
Completes commands, options, option values from a fixed list, profiles, and the
event types that event-types or events stats listed last; the Tab key sends no
request and opens no keychain. The scripts ask hooktrail for the completions, so
they never need to be updated.

--install says which files it wrote: the script, and for bash, zsh and
PowerShell a few marked lines in the file that the shell reads when it starts.
Windows PowerShell and PowerShell 7 have different files: run it in the one that
you use, whose execution policy must let scripts run.
To place the script yourself, print it. For zsh, ~/.zshrc then needs the lines
  fpath=(~/.zfunc $fpath)
  autoload -Uz compinit && compinit`;

export const examples = [
  'hooktrail completion --install',
  'hooktrail completion zsh --uninstall',
  'mkdir -p ~/.zfunc && hooktrail completion zsh > ~/.zfunc/_hooktrail',
  'eval "$(hooktrail completion bash)"',
  { powershell: 'hooktrail completion powershell | Out-String | Invoke-Expression' },
];

export function declare(command: Command): void {
  command
    .argument('[shell]', shells.join(', '))
    .option('--install', 'put the script where the shell reads it; without a name for the shell in $SHELL')
    .option('--uninstall', 'remove what --install wrote');
}

export async function run({ flags, args, context, reporter }: Call<Flags>): Promise<void> {
  if (flags.install && flags.uninstall)
    throw new UsageError('--install and --uninstall contradict each other: give one');
  if (!flags.install && !flags.uninstall)
    return await context.stdout.write(await completionScript(shellNamed(args[0] ?? '')));
  const shell = shellNamed(args[0] ?? path.basename(context.environment['SHELL'] ?? ''));
  const place = placeOf(shell, context);
  let end = flags.install ? `open a new ${shell} to use it` : `nothing is installed for ${shell}`;
  for await (const line of flags.install ? install(shell, place) : uninstall(place)) {
    reporter.notice(line);
    if (flags.uninstall) end = '';
  }
  if (end) reporter.notice(end);
}

function shellNamed(name: string): Shell {
  const lower = name.toLowerCase().replace(/\.exe$/, '');
  const shell = shells.find((one) => one === (lower === 'pwsh' ? 'powershell' : lower));
  if (shell) return shell;
  const names = shells.join(', ');
  if (name === '') throw new UsageError('the shell is missing', { next: `name one: ${names}` });
  throw new UsageError(`'${name}' is not a shell with completions: ${names}`, didYouMean(name, shells));
}

/** The package keeps the scripts in a folder next to both `src/` and the built program. */
async function completionScript(shell: Shell): Promise<string> {
  return await readFile(new URL(`../../completions/${files[shell]}`, import.meta.url), 'utf8');
}

interface Place {
  readonly script: string;
  /** A file that the shell reads on start, and the lines in it that load the script; fish needs none. */
  readonly startup?: { readonly file: string; readonly lines: readonly string[] };
}

function placeOf(shell: Shell, { environment, machine }: Pick<Context, 'environment' | 'machine'>): Place {
  const home = environment['HOME'] || machine.userHome;
  const data = environment['XDG_DATA_HOME'] || path.join(home, '.local', 'share');
  const config = environment['XDG_CONFIG_HOME'] || path.join(home, '.config');
  if (shell === 'fish') return { script: path.join(config, 'fish', 'completions', files.fish) };
  const script = path.join(data, 'hooktrail', files[shell]);
  const word = quotedWord(script);
  // Terminal on macOS opens login shells, which do not read ~/.bashrc.
  const bashrc = machine.platform === 'darwin' ? '.bash_profile' : '.bashrc';
  if (shell === 'bash')
    return { script, startup: { file: path.join(home, bashrc), lines: [`[ -r ${word} ] && . ${word}`] } };
  if (shell === 'zsh') {
    const lines = [`[[ -r ${word} ]] && source ${word}`];
    return { script, startup: { file: path.join(environment['ZDOTDIR'] || home, '.zshrc'), lines } };
  }
  // Relative to the profile's folder: Windows PowerShell reads a profile in the machine's code page, and
  // would misread a path in another alphabet.
  const folder = powershellFolder(environment, machine) ?? path.join(config, 'powershell');
  const place = `"$PSScriptRoot/${files.powershell}"`;
  const lines = [`if (Test-Path -LiteralPath ${place}) { . ${place} }`];
  return {
    script: path.join(folder, files.powershell),
    startup: { file: path.join(folder, 'Microsoft.PowerShell_profile.ps1'), lines },
  };
}

/**
 * Returns the folder of the user's profile on Windows. Windows PowerShell and PowerShell 7 each have one in
 * Documents, which may be in OneDrive. The calling one is the first in PSModulePath; otherwise PowerShell 7's
 * is used.
 */
function powershellFolder(environment: Context['environment'], machine: Context['machine']) {
  if (machine.platform !== 'win32') return undefined;
  const [first = ''] = (environment['PSModulePath'] ?? '').split(';');
  const [, own] = /^(.*[\\/](?:Windows)?PowerShell)[\\/]Modules[\\/]?$/i.exec(first) ?? [];
  const isShared = own
    ?.toLowerCase()
    .startsWith((environment['ProgramFiles'] || 'C:\\Program Files').toLowerCase());
  return own && !isShared ? own : path.join(machine.userHome, 'Documents', 'PowerShell');
}

const BEGIN = '# >>> hooktrail completion >>>';
const END = '# <<< hooktrail completion <<<';
const BLOCK = new RegExp(`^${BEGIN}\\r?\\n[\\s\\S]*?^${END}(?:\\r?\\n|$)`, 'm');

async function* install(shell: Shell, { script, startup }: Place): AsyncGenerator<string> {
  makeFolder(path.dirname(script), 0o755);
  await replaceFile(script, await completionScript(shell));
  yield `wrote ${script}`;
  if (!startup) return;
  const block = [BEGIN, ...startup.lines, END, ''].join('\n');
  await change(startup.file, (text) => {
    if (BLOCK.test(text)) return text.replace(BLOCK, () => block);
    return `${text}${text && !text.endsWith('\n') ? '\n' : ''}${block}`;
  });
  yield `added lines to ${startup.file}`;
}

async function* uninstall({ script, startup }: Place): AsyncGenerator<string> {
  if (startup && (await change(startup.file, (text) => text.replace(BLOCK, ''))))
    yield `removed lines from ${startup.file}`;
  if (!existsSync(script)) return;
  await rm(script);
  await rmdir(path.dirname(script)).catch(() => undefined);
  yield `removed ${script}`;
}

/**
 * Changes a startup file of the shell, and returns true if that made a difference. The file keeps its mode
 * and encoding, and a link, as into a folder under version control, remains a link.
 */
async function change(file: string, changed: (text: string) => string): Promise<boolean> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`${file} cannot be read: ${faultText(error)}`, { cause: error });
  });
  const encoding = encodingOf(bytes ?? Buffer.alloc(0));
  const text = bytes?.toString(encoding) ?? '';
  const newText = changed(text);
  if (newText === text) return false;
  makeFolder(path.dirname(file), 0o755);
  const target = bytes ? await realpath(file) : file;
  const mode = bytes ? (await stat(target)).mode : 0o644;
  await replaceFile(target, Buffer.from(newText, encoding));
  await chmod(target, mode);
  return true;
}
