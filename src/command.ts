import type { Command, CommanderError, Option } from 'commander';
import type { Context } from './context.ts';
import type { ExitCode } from './errors.ts';
import type { RunSettings } from './settings/settings.ts';
import type { Reporter, ReporterFlags } from './terminal/reporter.ts';

/** Options every command takes. */
export interface GlobalFlags extends ReporterFlags {
  readonly profile?: string;
  readonly errorFormat?: string;
}

/** One call of a command: what was typed, parsed by the declarations, and the world it runs in. */
export interface Call<Flags = unknown> {
  readonly flags: Flags & GlobalFlags;
  readonly args: readonly string[];
  readonly settings: RunSettings;
  readonly command: Command;
  readonly context: Context;
  readonly reporter: Reporter;
  /** Runs another command line, in another context if given. `demo` shows the program itself this way. */
  readonly invoke: Invoke;
  /** The command tree that parsed the line, for commands that describe it. */
  readonly commands: CommandTree;
}

/** The tree has every command's name and summary. A declaration is loaded when it is needed. */
export interface CommandTree {
  readonly root: Command;
  /** Reads the declaration of one command: its arguments and options. */
  readonly declare: (command: Command) => Promise<void>;
  /** Parses a line without running it, and returns commander's complaint about it. */
  readonly faultOf: (argv: readonly string[]) => Promise<ParseFault | undefined>;
}

/** Commander's complaint about a line, with what it is about. */
export type ParseFault = CommanderError & FaultSubject & { readonly command: Command };

export interface FaultSubject {
  /** One that the command does not have, as it was typed. */
  readonly flag?: string;
  /** One that lacks its value. */
  readonly option?: Option;
  /** The name of one that is missing. */
  readonly argument?: string;
}

export type Invoke = (argv: readonly string[], context: Context) => Promise<ExitCode>;

/** Does a command's work; the exit code is 0 unless it says otherwise. */
export type Run<Flags> = (call: Call<Flags>) => Promise<ExitCode | void>;

/** A line of a shell, or of PowerShell, which may go on after a backslash. */
export type Example = string | { readonly powershell: string };

export interface CommandModule {
  /**
   * The long names of the eight to twelve flags that `-h` shows, in its order, with spaces between them.
   * Without it `-h` shows the command's own flags, without those of shared blocks.
   */
  readonly commonFlags?: string;
  /** The explanation that `--help` prints below the flags. */
  readonly help?: string;
  readonly examples?: readonly Example[];
  /** Adds its arguments and options to the command that the tree made for it. */
  declare?(command: Command): void;
  readonly run: Run<never>;
}

/** A command of the tree. Its module is there when it has been declared; of a group, only its help. */
export interface TreeCommand extends Command {
  readonly module?: Pick<CommandModule, 'help' | 'examples' | 'commonFlags'>;
}

/** A command that refuses a flag as commander does where the flag is none of its own. */
export interface StrictCommand extends Command {
  unknownOption(flag: string): never;
}

/** The words of a line: those of the program itself, and `--` with what stands behind it. */
export interface TypedWords {
  readonly own: readonly string[];
  readonly behind: readonly string[];
}

/** The line as it was typed. commander keeps its words, though its types do not say so. */
export function typedWords(root: Command): TypedWords {
  const { rawArgs } = root as unknown as { readonly rawArgs: readonly string[] };
  const dashes = rawArgs.indexOf('--');
  const end = dashes === -1 ? rawArgs.length : dashes;
  return { own: rawArgs.slice(0, end), behind: rawArgs.slice(end) };
}

/**
 * Adds an argument that is a command of the user's. It stands after `--`; a word before that is one too many.
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

/** For a command that runs until it is interrupted: rejects with the signal's reason when that comes. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
