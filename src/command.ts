import type { Command } from 'commander';
import type { Context } from './context.ts';
import { type ExitCode, UsageError } from './errors.ts';
import { suggestion } from './settings/nearest.ts';
import type { Reporter, ReporterFlags } from './terminal/reporter.ts';

/** Options every command takes. */
export interface GlobalFlags extends ReporterFlags {
  readonly profile?: string;
}

/** One call of a command: what was typed, parsed by the declarations, and the world it runs in. */
export interface Call<Flags = unknown> {
  readonly flags: Flags & GlobalFlags;
  readonly args: readonly string[];
  readonly context: Context;
  readonly reporter: Reporter;
  /** Runs another command line, in another context if need be: what `demo` shows is the program itself. */
  readonly invoke: Invoke;
}

export type Invoke = (argv: readonly string[], context: Context) => Promise<ExitCode>;

/** Does a command's work; the exit code is 0 unless it says otherwise. */
export type Run<Flags> = (call: Call<Flags>) => Promise<ExitCode | void>;

/** Turns a `run` function into what commander calls. */
export type Action = <Flags>(run: Run<Flags>) => (...parsed: unknown[]) => Promise<void>;

/** A command's module: adds its arguments, options and action to the command that the tree made for it. */
export interface CommandModule {
  declare(command: Command, action: Action): void;
}

/**
 * For the command that a group runs where none is named (`config` is `config list`): a word that it does not take was meant
 * as the name of another.
 */
export function standsForGroup(command: Command): Command {
  return command.allowExcessArguments().hook('preAction', (_, { args, parent }) => {
    const [word] = args;
    if (word === undefined || !parent) return;
    if (parent.args[0] === command.name()) throw new UsageError(`too many arguments for '${command.name()}'`);
    const names = parent.commands.map((sibling) => sibling.name());
    throw new UsageError(`unknown command '${word}'`, {
      next: suggestion(word, names) ?? 'run the command with --help to see what it takes',
    });
  });
}

/** For a command that runs until it is interrupted: rejects with the signal's reason when that comes. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
