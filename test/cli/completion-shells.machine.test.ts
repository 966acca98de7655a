import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { binFolder, createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { hooktrail } from '../support/program.ts';

const execute = promisify(execFile);

/**
 * Types lines into one real shell, presses TAB after each and returns what the shell offers, line for line.
 */
type Complete = (typed: readonly string[], env: NodeJS.ProcessEnv) => Promise<string[][]>;

const AFTER_EACH = '=';
/** Returns the offers of each line, which end with a line of their own. */
function offersIn(stdout: string): string[][] {
  const texts = `\n${stdout}`.split(`\n${AFTER_EACH}\n`).slice(0, -1);
  return texts.map((text) => text.split('\n').filter((line) => line !== ''));
}

const inBash: Complete = async (typed, env) => {
  // Splits a line as readline does, for which `=` is a separate word.
  const wordsOf = (line: string) =>
    line.split(' ').flatMap((word) => word.split(/(=)/).filter((part, at) => at === 0 || part !== ''));
  const each = typed.map((line) => {
    const words = wordsOf(line);
    return `
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; COMPREPLY=()
      _hooktrail; printf '%s\\n' "\${COMPREPLY[@]}" '${AFTER_EACH}'`;
  });
  const script = `eval "$(hooktrail completion bash)"\n${each.join('\n')}`;
  return offersIn((await execute('bash', ['--norc', '-c', script], { env, cwd: env['HOME'] })).stdout);
};

const inFish: Complete = async (typed, env) => {
  const each = typed.map((line) => `complete --do-complete "${line}"; echo '${AFTER_EACH}'`);
  const script = `hooktrail completion fish | source\n${each.join('\n')}`;
  const { stdout } = await execute('fish', ['--no-config', '-c', script], { env, cwd: env['HOME'] });
  return offersIn(stdout).map((offers) => offers.map((offer) => offer.split('\t')[0] as string));
};

/** zsh completes only in its line editor, so one runs on a pseudo-terminal and lists what it would offer. */
const inZsh: Complete = async (typed, env) => {
  const script = `
    zmodload zsh/zpty
    zpty shell 'zsh -f -i'
    zpty -w shell 'PS1=; PROMPT_EOL_MARK=; autoload -Uz compinit; compinit -u -D; eval "$(hooktrail completion zsh)"'
    zpty -w shell 'compadd() { local -a offers hits; zparseopts -E -D -a ignored O:=offers A: D: d: V: J: X: x: l 2 1;
      builtin compadd -O hits "$@"; print -rl -- $hits >>$HOME/offered; return 0 }'
    zpty -w shell 'list() { _main_complete; : >$HOME/done }; zle -C list list-choices list; bindkey "^T" list'
    zpty -w shell ': >$HOME/ready'
    while [[ ! -e $HOME/ready ]]; do sleep 0.05; done
    for line in "$@"; do
      zpty -w -n shell "$line"$'\\x14'
      for ((i = 0; i < 1000; i++)); do [[ -e $HOME/done ]] && break; sleep 0.01; done
      [[ -e $HOME/offered ]] && cat $HOME/offered
      print -r -- '${AFTER_EACH}'
      rm -f $HOME/offered $HOME/done
      zpty -w -n shell $'\\x15'
    done
    zpty -d shell`;
  const { stdout } = await execute('zsh', ['-f', '-c', script, 'zsh', ...typed], {
    env,
    cwd: env['HOME'],
  });
  return offersIn(stdout).map((offers) => [...new Set(offers.map((offer) => offer.trim()))]);
};

const LINES = [
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
] as const;
const AFTER_AN_EQUALS_SIGN = 'hooktrail events search --output=nd';

const SHELLS = [
  ['bash', inBash],
  ['zsh', inZsh],
  ['fish', inFish],
] as const;

describe.each(SHELLS)('in %s', (shell, complete) => {
  const isLeftOut = !available(shell);
  const offered = new Map<string, string[]>();
  beforeAll(async () => {
    if (isLeftOut) return;
    await using home = await createHome();
    const folder = await binFolder(home.folder, inject('program'));
    const env = { ...home.env, PATH: `${folder}:${home.env['PATH']}`, TERM: 'xterm' };
    const { HOOKTRAIL_CONFIG_DIR: config = '' } = home.env;
    await mkdir(config, { recursive: true });
    const profiles = { default: { 'base-url': 'http://127.0.0.1:9/' }, staging: {} };
    await writeFile(path.join(config, 'config.json'), JSON.stringify({ version: 1, profiles }));
    const typed = [...LINES.map(([line]) => line), AFTER_AN_EQUALS_SIGN];
    const offers = await complete(typed, env);
    for (const [index, line] of typed.entries()) offered.set(line, (offers[index] ?? []).sort());
  });

  test.skipIf(isLeftOut).each(LINES)('%s', (line, expected) => {
    expect(offered.get(line)).toEqual(expected);
  });

  test.skipIf(isLeftOut)('a value after an equals sign', () => {
    const prefix = shell === 'bash' ? '' : '--output=';
    expect(offered.get(AFTER_AN_EQUALS_SIGN)).toEqual([`${prefix}ndjson`]);
  });
});

test.skipIf(!available('zsh'))('the script for zsh can be sourced before compinit', async () => {
  await using home = await createHome();
  const { stdout: script } = await hooktrail(['completion', 'zsh'], { env: home.env });
  const file = path.join(home.folder, 'hooktrail.zsh');
  await writeFile(file, script);
  const line = 'source "$1" && print -r -- $_comps[hooktrail]';
  const { stdout, stderr } = await execute('zsh', ['-f', '-c', line, 'zsh', file], { env: home.env });
  expect([stdout, stderr]).toEqual(['_hooktrail\n', '']);
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
