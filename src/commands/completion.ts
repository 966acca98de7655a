import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { suggestion } from '../settings/nearest.ts';

/** The shells that there are completions for. */
export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof shells)[number];

export function declare(command: Command, action: Action): void {
  command
    .argument('<shell>', shells.join(', '))
    .addHelpText(
      'after',
      `
Completes commands, options, values that are one of a few, profiles, and event
types as event-types or events stats listed them last; the Tab
key asks no server and no keychain. The scripts ask hooktrail itself what may
come next, so they never need to be renewed.

Examples:
  $ hooktrail completion bash \\
      > ~/.local/share/bash-completion/completions/hooktrail
  $ hooktrail completion zsh > ~/.zfunc/_hooktrail
  $ hooktrail completion fish > ~/.config/fish/completions/hooktrail.fish
  PS> hooktrail completion powershell | Out-String | Invoke-Expression`,
    )
    .action(action(run));
}

async function run({ args, context }: Call): Promise<void> {
  const [name = ''] = args;
  const shell = shells.find((one): one is Shell => one === name.toLowerCase());
  if (!shell) {
    throw new UsageError(`'${name}' is not a shell with completions: ${shells.join(', ')}`, {
      next: suggestion(name, shells),
    });
  }
  await context.stdout.write(await completionScript(shell));
}

const files: Readonly<Record<Shell, string>> = {
  bash: 'hooktrail.bash',
  zsh: 'hooktrail.zsh',
  fish: 'hooktrail.fish',
  powershell: 'hooktrail.ps1',
};

/** The completion script of a shell. The package keeps them in a folder beside both `src/` and the built program. */
async function completionScript(shell: Shell): Promise<string> {
  return await readFile(new URL(`../../completions/${files[shell]}`, import.meta.url), 'utf8');
}
