import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { type ExitCode, UsageError } from '../errors.ts';
import { topics } from '../help/topics.ts';
import { suggestion } from '../settings/nearest.ts';

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
    .action(action((call) => run(call, command.parent)));
}

async function run(call: Call, program: Command | null): Promise<ExitCode | void> {
  const { args, context, invoke } = call;
  const topic = args.length === 1 ? topics.find(({ name }) => name === args[0]) : undefined;
  if (topic) return await context.stdout.write(await topic.text());
  let group = program;
  for (const [index, word] of args.entries()) {
    const names = group?.commands.map((command) => command.name()) ?? [];
    // What stands behind a whole command is left to that.
    if (names.length === 0) break;
    if (!names.includes(word)) throw unknown(args.slice(0, index + 1), names);
    group = group?.commands.find((command) => command.name() === word) ?? null;
  }
  return await invoke([...args, '--help'], context);
}

function unknown(words: readonly string[], commands: readonly string[]): UsageError {
  const isTop = words.length === 1;
  const names = isTop ? [...commands, ...topics.map(({ name }) => name)] : commands;
  return new UsageError(`there is no command ${isTop ? 'or topic ' : ''}'${words.join(' ')}'`, {
    next: suggestion(words.at(-1) as string, names) ?? 'run `hooktrail --help` to see them all',
  });
}
