import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { binFolder, createHome, type Home } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { hooktrail } from '../support/program.ts';

const execute = promisify(execFile);

/** Types a line into a real shell, presses TAB and returns what the shell offers. */
type Complete = (line: string, env: NodeJS.ProcessEnv) => Promise<string[]>;

const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Splits the line as readline does, for which `=` is a separate word. */
const inBash: Complete = async (line, env) => {
  const words = line
    .split(' ')
    .flatMap((word) => word.split(/(=)/).filter((part, at) => at === 0 || part !== ''));
  const script = `
    eval "$(hooktrail completion bash)"
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _hooktrail; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return lines((await execute('bash', ['--norc', '-c', script], { env, cwd: env['HOME'] })).stdout);
};

const inFish: Complete = async (line, env) => {
  const script = `hooktrail completion fish | source; complete --do-complete "${line}"`;
  const { stdout } = await execute('fish', ['--no-config', '-c', script], { env, cwd: env['HOME'] });
  return lines(stdout).map((offer) => offer.split('\t')[0] as string);
};

/** zsh completes only in its line editor, so one runs on a pseudo-terminal and lists what it would offer. */
const inZsh: Complete = async (line, env) => {
  const script = `
    zmodload zsh/zpty
    zpty shell 'zsh -f -i'
    zpty -w shell 'PS1=; PROMPT_EOL_MARK=; autoload -Uz compinit; compinit -u -D; eval "$(hooktrail completion zsh)"'
    zpty -w shell 'compadd() { local -a offers hits; zparseopts -E -D -a ignored O:=offers A: D: d: V: J: X: x: l 2 1;
      builtin compadd -O hits "$@"; print -rl -- $hits >>$HOME/offered; return 0 }'
    zpty -w shell 'list() { _main_complete; : >$HOME/done }; zle -C list list-choices list; bindkey "^T" list'
    zpty -w shell ': >$HOME/ready'
    while [[ ! -e $HOME/ready ]]; do sleep 0.05; done
    zpty -w -n shell '${line}'$'\\x14'
    for ((i = 0; i < 200; i++)); do [[ -e $HOME/done ]] && break; sleep 0.05; done
    zpty -d shell
    [[ -e $HOME/offered ]] && cat $HOME/offered`;
  const { stdout } = await execute('zsh', ['-f', '-c', script], { env, cwd: env['HOME'] }).catch((e) => e);
  return [...new Set(lines(stdout).map((offer) => offer.trim()))];
};

describe.each([
  ['bash', inBash],
  ['zsh', inZsh],
  ['fish', inFish],
] as const)('in %s', (shell, complete) => {
  let home: Home;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    home = await createHome();
    const folder = await binFolder(home.folder, inject('program'));
    env = { ...home.env, PATH: `${folder}:${home.env['PATH']}`, TERM: 'xterm' };
    const { HOOKTRAIL_CONFIG_DIR: config = '' } = home.env;
    await mkdir(config, { recursive: true });
    const profiles = { default: { 'base-url': 'http://127.0.0.1:9/' }, staging: {} };
    await writeFile(path.join(config, 'config.json'), JSON.stringify({ version: 1, profiles }));
  });
  afterAll(() => home[Symbol.asyncDispose]());

  const offers = async (line: string) => {
    const { rm } = await import('node:fs/promises');
    for (const name of ['offered', 'done', 'ready']) await rm(path.join(home.folder, name), { force: true });
    return (await complete(line, env)).sort();
  };

  test.skipIf(!available(shell)).each([
    ['hooktrail eve', ['event-types', 'events']],
    ['hooktrail events se', ['search']],
    ['hooktrail events search --fai', ['--failed']],
    ['hooktrail events search --status ', ['FAILED', 'SUCCESS']],
    ['hooktrail events search --status f', ['FAILED']],
    ['hooktrail events search --output n', ['ndjson']],
    ['hooktrail events search --sin', ['--since']],
    ['hooktrail login --store k', ['keychain']],
    ['hooktrail --profile s', ['staging']],
    ['hooktrail profiles use ', ['default', 'staging']],
    ['hooktrail completion z', ['zsh']],
    ['hooktrail help ex', ['exit-codes']],
    ['hooktrail config get au', ['auth-url']],
  ])('%s', async (line, expected) => {
    expect(await offers(line)).toEqual(expected);
  });

  test.skipIf(!available(shell))('a value after an equals sign', async () => {
    const prefix = shell === 'bash' ? '' : '--output=';
    expect(await offers('hooktrail events search --output=nd')).toEqual([`${prefix}ndjson`]);
  });
});

test('the script for PowerShell registers the program and asks it', async () => {
  await using home = await createHome();
  const { code, stdout } = await hooktrail(['completion', 'powershell'], { env: home.env });
  expect(code).toBe(0);
  expect(stdout).toContain('Register-ArgumentCompleter -Native -CommandName hooktrail');
  expect(stdout).toContain('& $program __complete @words $typed');
  for (const [open, close] of ['{}', '()', '[]']) {
    expect(stdout.split(open as string).length).toBe(stdout.split(close as string).length);
  }
});
