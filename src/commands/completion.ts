import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { suggestion } from '../config/nearest.ts';
import { UsageError } from '../errors.ts';
import { type Shell, shells } from '../shells/shells.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('<shell>', shells.join(', '))
    .addHelpText(
      'after',
      `
Completes commands, options, values that are one of a few, profiles, and event
types as the service listed them last. The scripts ask hooktrail itself what may
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
  const { completionScript } = await import('../shells/completion-script.ts');
  await context.stdout.write(await completionScript(shell));
}
