import { Command } from 'commander';
import type { Action, GlobalFlags, Invoke, Run } from './command.ts';
import { type Branch, type Leaf, tree } from './command-tree.ts';
import type { Context } from './context.ts';
import { ExitCode } from './errors.ts';
import { createReporter } from './terminal/reporter.ts';
import { version } from './version.ts';

export interface Outcome {
  exitCode: ExitCode;
}

/**
 * The commander program for one command line. Every command is there by name and summary; the declaration of the one
 * that `argv` names is loaded, the others stay unread (`everything` loads all, for completions and the manual).
 */
export async function buildProgram(
  argv: readonly string[],
  context: Context,
  invoke: Invoke,
  everything = false,
): Promise<{ program: Command; outcome: Outcome }> {
  const outcome: Outcome = { exitCode: ExitCode.done };
  const program = new Command('hooktrail')
    .description(
      'Search an event notification service, and find, understand and recover deliveries that failed.',
    )
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'explain the command')
    .option('--profile <name>', 'the profile to use [HOOKTRAIL_PROFILE]')
    .option('--verbose', 'one line a request on standard error, without secrets')
    .option('--debug', 'headers too, without secrets')
    .option('--no-color', 'no colour [NO_COLOR]')
    .option('--quiet', 'no progress and no notices; warnings and errors stay')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail demo
  $ hooktrail login
  $ hooktrail events search --failed --since 24h`,
    )
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text).catch(() => undefined),
      writeErr: (text) => void context.stderr.write(text).catch(() => undefined),
      // `main` prints errors, in one form whatever their source.
      outputError: () => undefined,
      getOutHelpWidth: () => (context.stdout.isTerminal ? Math.min(context.stdout.columns, 120) : 100),
    })
    .exitOverride();
  const words = everything ? undefined : wordsOf(argv);
  const isForHelp = words?.[0] === 'help' || argv.includes('--help') || argv.includes('-h');
  const action = actionFor(context, invoke, outcome);
  await grow(program, tree, words, isForHelp, action);
  const explained = words?.[0] === 'help' ? tree.find(({ name }) => name === words[1]) : undefined;
  const group = program.commands.find((command) => command.name() === explained?.name);
  // For `help` to know the names below the one it explains.
  if (group && explained && 'children' in explained)
    await grow(group, explained.children, [], isForHelp, action);
  return { program, outcome };
}

async function grow(
  parent: Command,
  nodes: readonly (Branch | Leaf)[],
  words: string[] | undefined,
  isForHelp: boolean,
  action: Action,
) {
  if (words?.[0] === 'help' && !nodes.some(({ name }) => name === 'help')) {
    // `events help search`: commander's own help of a group.
    await grow(parent, nodes, words.slice(1), true, action);
    return;
  }
  const [word, ...rest] = words ?? [];
  const meant = nodes.find(({ name }) => name === word);
  // The others are there to be shown by help and suggested for what is none of them.
  for (const node of meant && !isForHelp ? [meant] : nodes) {
    const command = parent.command(node.name, node.isDefault ? { isDefault: true } : {});
    command.description(node.summary);
    if (node.group) command.helpGroup(node.group);
    const named = words === undefined || node.name === word;
    if ('children' in node) {
      command.helpCommand('help [command]', 'explain a command');
      // What is below a command that nobody named is neither run nor shown.
      if (named) await grow(command, node.children, words && rest, isForHelp, action);
    } else if (named || (node.isDefault && !meant)) {
      (await node.load()).declare(command, action);
    }
  }
}

/** The words of the command line that can name a command: no options, not the value of the one global that takes one. */
function wordsOf(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] as string;
    if (argument === '--profile') index++;
    else if (!argument.startsWith('-')) words.push(argument);
  }
  return words;
}

function actionFor(context: Context, invoke: Invoke, outcome: Outcome): Action {
  return <Flags>(run: Run<Flags>) =>
    async (...parsed: unknown[]) => {
      const command = parsed.at(-1) as Command;
      const flags = command.optsWithGlobals() as Flags & GlobalFlags;
      const reporter = await createReporter(context, flags);
      outcome.exitCode =
        (await run({ flags, args: command.args, context, reporter, invoke })) ?? ExitCode.done;
    };
}
