import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { nearest } from '../config/nearest.ts';
import { type ExitCode, UsageError } from '../errors.ts';
import { topics } from '../help/topics.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('[words...]', 'the words of a command, or a topic')
    .addHelpText(
      'after',
      `
Topics:
${topics.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}`).join('\n')}

Examples:
  $ hooktrail help events search
  $ hooktrail help exit-codes
  $ hooktrail help filters`,
    )
    .action(action(run));
}

async function run({ args, context, invoke }: Call): Promise<ExitCode | void> {
  const [first] = args;
  const topic = args.length === 1 ? topics.find(({ name }) => name === first) : undefined;
  if (topic) return await context.stdout.write(await topic.text());
  const { tree } = await import('../tree.ts');
  if (first !== undefined && !tree.some(({ name }) => name === first)) {
    const names = [...tree, ...topics].map(({ name }) => name);
    const meant = nearest(first, names);
    throw new UsageError(`there is no command or topic '${first}'`, {
      next: meant ? `did you mean ${meant}?` : 'run hooktrail --help to see them all',
    });
  }
  return await invoke([...args, '--help'], context);
}
