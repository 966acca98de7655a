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
    .action(action((call) => run(call, () => command.parent?.commands.map((one) => one.name()) ?? [])));
}

async function run(
  { args, context, invoke }: Call,
  commands: () => readonly string[],
): Promise<ExitCode | void> {
  const [first] = args;
  const topic = args.length === 1 ? topics.find(({ name }) => name === first) : undefined;
  if (topic) return await context.stdout.write(await topic.text());
  if (first !== undefined && !commands().includes(first)) {
    const meant = nearest(first, [...commands(), ...topics.map(({ name }) => name)]);
    throw new UsageError(`there is no command or topic '${first}'`, {
      next: meant ? `did you mean ${meant}?` : 'run hooktrail --help to see them all',
    });
  }
  return await invoke([...args, '--help'], context);
}
