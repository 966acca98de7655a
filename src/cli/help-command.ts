import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call, CommandModule } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addPagerFlag } from '../formats/format-flags.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { topics, topicText } from './topics.ts';

interface Flags {
  readonly json?: true;
}

export const help = `
Topics:
${topics.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}`).join('\n')}`;

export const examples = [
  'hooktrail help events search',
  'hooktrail help exit-codes',
  "hooktrail help --json | jq -r '.commands[].command'",
];

export function declare(command: Command): void {
  command
    .argument('[words...]', 'the words of a command, or a topic')
    .option('--json', 'print every command, flag, argument, example and exit code as JSON');
  addPagerFlag(command);
}

export const helpOfGroup: CommandModule = {
  declare: (command) => addPagerFlag(command.argument('[command]', 'the command to explain')),
  run,
};

export async function run({ flags, args, command, context, commands }: Call<Flags>): Promise<void> {
  const group = command.parent as Command;
  const topic = args.length === 1 && !group.parent && topics.find(({ name }) => name === args[0]);
  if (topic && !flags.json) return await context.stdout.write(topicText(topic.name));
  let at = group;
  for (const [index, word] of args.entries()) {
    // A command without subcommands: the remaining words are its arguments.
    if (at.commands.length === 0) break;
    const child = at.commands.find((command) => command.name() === word);
    if (!child) throw unknown(args.slice(0, index + 1), at);
    await commands.declare(child);
    at = child;
  }
  if (flags.json) {
    const { describeProgram } = await import('./command-description.ts');
    return await context.stdout.write(`${JSON.stringify(await describeProgram(commands, at), null, 2)}\n`);
  }
  at.outputHelp();
}

function unknown(words: readonly string[], group: Command): UsageError {
  const isTopic = group.parent === null;
  const names = group.commands.map((command) => command.name());
  if (isTopic) names.push(...topics.map(({ name }) => name));
  return new UsageError(`there is no command ${isTopic ? 'or topic ' : ''}'${words.join(' ')}'`, {
    ...didYouMean(words.at(-1) as string, names, advise`${hooktrail('--help')} lists them`),
  });
}
