import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { buildProgram } from '../program.ts';
import type { Described } from './page.ts';

/** The whole tree, every declaration read, and its leaves in order with what their help says beyond the options. */
export async function describeAll(): Promise<{ program: Command; commands: readonly Described[] }> {
  let printed = '';
  const stdout = {
    isTerminal: false,
    write: async (chunk: string) => {
      printed += chunk;
    },
  };
  // Nothing runs, so that the declarations see no more of the world than where help is printed to.
  const context = { stdout } as unknown as Context;
  const { program } = await buildProgram([], context, async () => 0, true);
  const notesOf = (command: Command) => {
    printed = '';
    command.outputHelp();
    return printed.replace(command.helpInformation(), '');
  };
  return { program, commands: leavesOf(program).map((command) => ({ command, notes: notesOf(command) })) };
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}
