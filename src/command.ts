import type { Command, CommanderError, Option } from 'commander';
import type { Context } from './context.ts';
import type { ExitCode } from './errors.ts';
import type { RunSettings } from './settings/settings.ts';
import type { Reporter, ReporterFlags } from './terminal/reporter.ts';

export interface GlobalFlags extends ReporterFlags {
  readonly profile?: string;
  readonly errorFormat?: string;
}

export interface Call<Flags = unknown> {
  readonly flags: Flags & GlobalFlags;
  readonly args: readonly string[];
  readonly settings: RunSettings;
  readonly command: Command;
  readonly context: Context;
  readonly reporter: Reporter;
  readonly invoke: Invoke;
  readonly commands: CommandTree;
}

/** Has every command's name and summary. Declarations are loaded when needed. */
export interface CommandTree {
  readonly root: Command;
  readonly declare: (command: Command) => Promise<void>;
  /** Parses a line without running it, and returns commander's error. */
  readonly faultOf: (argv: readonly string[]) => Promise<ParseFault | undefined>;
}

export type ParseFault = CommanderError & FaultSubject & { readonly command: Command };

export interface FaultSubject {
  readonly flag?: string;
  readonly option?: Option;
  readonly argument?: string;
}

export type Invoke = (argv: readonly string[], context: Context) => Promise<ExitCode>;

/** Does a command's work; the exit code defaults to 0. */
export type Run<Flags> = (call: Call<Flags>) => Promise<ExitCode | void>;

/** A line of a shell, or of PowerShell, possibly continued after a backslash. */
export type Example = string | { readonly powershell: string };

export interface CommandModule {
  /**
   * The long names of the eight to twelve flags that `-h` shows, in order, separated by spaces. By default
   * `-h` shows the command's own flags, without shared blocks.
   */
  readonly commonFlags?: string;
  readonly help?: string;
  readonly examples?: readonly Example[];
  declare?(command: Command): void;
  readonly run: Run<never>;
}

/** Has its module once it is declared; a group has only its help. */
export interface TreeCommand extends Command {
  readonly module?: Pick<CommandModule, 'help' | 'examples' | 'commonFlags'>;
}

/** Exposes commander's rejection of an unknown flag. */
export interface StrictCommand extends Command {
  unknownOption(flag: string): never;
}

/** The words of a line: those of the program itself, and `--` with everything after it. */
export interface TypedWords {
  readonly own: readonly string[];
  readonly behind: readonly string[];
}

/** commander keeps the raw line, although its types lack it. */
export function typedWords(root: Command): TypedWords {
  const { rawArgs } = root as unknown as { readonly rawArgs: readonly string[] };
  const dashes = rawArgs.indexOf('--');
  const end = dashes === -1 ? rawArgs.length : dashes;
  return { own: rawArgs.slice(0, end), behind: rawArgs.slice(end) };
}

/**
 * Adds an argument for a command of the user, which has to follow `--`; a word before that is an excess
 * argument.
 */
export function addCommandArgument(command: Command, description: string): Command {
  const argument = command.createArgument('[command...]', description);
  return command.addArgument(argument.argParser(collect));

  function collect(word: string, others: readonly string[] = []): readonly string[] {
    let root = command;
    while (root.parent) root = root.parent;
    const { behind } = typedWords(root);
    if (command.args.length > Math.max(0, behind.length - 1))
      command.error(`error: too many arguments for '${command.name()}'`, {
        code: 'commander.excessArguments',
      });
    return [...others, word];
  }
}

/** Waits for the signal to abort, and rejects with its reason: for commands that run until interrupted. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
