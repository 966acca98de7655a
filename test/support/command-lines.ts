import type { Command } from 'commander';
import { type Described, describeCommands } from '../../src/cli/command-description.ts';
import { buildProgram, type Program } from '../../src/cli/program.ts';
import type { Context } from '../../src/context.ts';

/** Returns the whole tree and the commands that can be run. */
export async function describeAll(): Promise<{ program: Program; commands: readonly Described[] }> {
  const program = buildProgram({} as Context, async () => 0);
  return { program, commands: await describeCommands(program) };
}

/**
 * Returns the words of each call of the program in lines of a shell; a comment ends a line, a backslash
 * continues it.
 */
export function callsIn(script: string): string[][] {
  const lines = script.replaceAll(/\\\n\s*/g, '').replaceAll(/(^|\s)#.*$/gm, '');
  return [
    ...lines.matchAll(/(?:^|[\s(|;&])hooktrail(?= )((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^|;&<>\n)'"])*)/g),
  ].map(([, rest = '']) =>
    [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
      ([, single, double, bare]) => single ?? double ?? bare ?? '',
    ),
  );
}

let tree: Promise<Command> | undefined;
let taken: string[] = [];
let last: Promise<unknown> = Promise.resolve();

/**
 * Returns the name of the command for these words, after parsing every value. Throws the error that the user
 * would get.
 */
export function commandFor(words: readonly string[]): Promise<string> {
  const parsed = last.then(() => parse(words));
  // One tree parses all lines, one after another.
  last = parsed.catch(() => undefined);
  return parsed;
}

async function parse(words: readonly string[]): Promise<string> {
  tree ??= describeAll().then(({ program: { root } }) => {
    for (const leaf of leavesOf(root)) leaf.action(() => void taken.push(pathOf(leaf)));
    return root;
  });
  const root = await tree;
  taken = [];
  await root.parseAsync(words, { from: 'user' }).catch((error) => {
    throw new Error(`hooktrail ${words.join(' ')}: ${error.message}`);
  });
  return taken.join(' and ');
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** The words that call a command: `hooktrail events search`. */
export function pathOf(command: Command): string {
  const parents = command.parent ? `${pathOf(command.parent)} ` : '';
  return `${parents}${command.name()}`;
}
