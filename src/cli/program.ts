import { Command, CommanderError, type ErrorOptions, type HelpContext, type Option } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type {
  CommandModule,
  CommandTree,
  FaultSubject,
  GlobalFlags,
  Invoke,
  ParseFault,
  Run,
  StrictCommand,
  TreeCommand,
} from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode, UsageError } from '../errors.ts';
import type { FormatFlags, OutputFlags } from '../formats/format-flags.ts';
import { Flag } from '../settings/flags.ts';
import type { RunSettings } from '../settings/settings.ts';
import { withPager } from '../terminal/paged-output.ts';
import { fullVersion } from '../version.ts';
import {
  DESCRIPTION,
  GLOBAL_FLAGS,
  HELP_FLAG,
  HIDDEN,
  type Nodes,
  tree,
  VERSION_FLAG,
} from './command-tree.ts';
import { fullHelp, shortHelp } from './help-text.ts';
import { helpWidth, printHelp, printProgramHelp, wantsShortHelp } from './program-help.ts';

export interface Program extends CommandTree {
  run(argv: readonly string[]): Promise<ExitCode>;
  readonly flags: GlobalFlags;
  settings(): Promise<RunSettings>;
}

/**
 * The commander program. It has every command's name and summary. Only commander parses the command line, and
 * a declaration is loaded when commander reaches it.
 */
export function buildProgram(context: Context, invoke: Invoke): Program {
  return new LazyProgram(context, invoke);
}

class LazyProgram implements Program {
  readonly root: Command;
  #exitCode: ExitCode = ExitCode.done;
  #flags: GlobalFlags | undefined;
  #settings: Promise<RunSettings> | undefined;
  #isTrial = false;
  readonly #undeclared = new Map<Command, () => Promise<CommandModule>>();
  readonly #context: Context;
  readonly #invoke: Invoke;

  constructor(context: Context, invoke: Invoke) {
    this.#context = context;
    this.#invoke = invoke;
    this.root = new LazyCommand('hooktrail')
      .description(DESCRIPTION)
      .version(fullVersion, VERSION_FLAG.flags, VERSION_FLAG.text)
      .helpOption(HELP_FLAG.flags, HELP_FLAG.text)
      .configureHelp({ subcommandTerm: (command) => command.name(), minWidthToWrap: 20 })
      .showSuggestionAfterError(false)
      // `main` prints the version and all errors, in one form.
      .configureOutput({ writeOut: () => undefined, outputError: () => undefined })
      .exitOverride();
    for (const { flags, text, parse, ...facts } of GLOBAL_FLAGS)
      this.root.addOption(new Flag(flags, text, facts, parse));
    for (const [heading, nodes] of Object.entries(tree)) this.#add(this.root, nodes, heading);
    this.#declareBeforeDispatch(this.root);
  }

  get flags(): GlobalFlags {
    return this.#flags ?? this.root.opts();
  }

  async settings(): Promise<RunSettings> {
    this.#settings ??= import('../settings/settings.ts').then(({ loadRunSettings }) =>
      loadRunSettings(this.flags, this.#context),
    );
    return await this.#settings;
  }

  #add(group: Command, nodes: Nodes, heading?: string): void {
    for (const [name, [summary, content, examples]] of Object.entries(nodes)) {
      const settings = { isDefault: name === 'list', hidden: heading === HIDDEN };
      const command = group.command(name, settings).description(summary);
      if (heading) command.helpGroup(heading);
      if (typeof content === 'function') this.#undeclared.set(command, content);
      else {
        (command as LazyCommand).module = examples ? { examples } : {};
        this.#add(command, content);
        this.#declareBeforeDispatch(command);
      }
    }
  }

  #declareBeforeDispatch(group: Command): void {
    group.helpCommand(false).hook('preSubcommand', async (_, command) => {
      const [word] = group.args;
      // `list` takes no arguments, so a word is a misspelt command.
      const isImplied = command.name() === 'list' && word !== 'list';
      if (isImplied && word !== undefined && !word.startsWith('-'))
        group.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
      await this.declare(command);
    });
  }

  readonly declare = async (command: Command): Promise<void> => {
    const load = this.#undeclared.get(command);
    if (!load) return;
    this.#undeclared.delete(command);
    const module = await load();
    (command as LazyCommand).module = module;
    module.declare?.(command);
    command.action(() => this.#act(command, module.run));
  };

  async run(argv: readonly string[]): Promise<ExitCode> {
    try {
      await this.root.parseAsync(argv, { from: 'user' });
    } catch (thrown) {
      if (thrown instanceof HelpRequest) await this.#printHelp(thrown, argv);
      else if (thrown instanceof UsageError && thrown.correction) {
        const { withCorrectedValue } = await import('./corrections.ts');
        throw withCorrectedValue(thrown, argv);
      } else if (!(thrown instanceof CommanderError)) throw thrown;
      else if (thrown.code === 'commander.version') await this.#context.stdout.write(`${fullVersion}\n`);
      else {
        const { usageErrorFor } = await import('./corrections.ts');
        throw await usageErrorFor(thrown as ParseFault, argv, this);
      }
    }
    return this.#exitCode;
  }

  readonly faultOf = async (argv: readonly string[]): Promise<ParseFault | undefined> => {
    const trial = new LazyProgram(this.#context, this.#invoke);
    trial.#isTrial = true;
    const thrown = await trial.root.parseAsync(argv, { from: 'user' }).catch((error) => error);
    return thrown instanceof CommanderError ? (thrown as ParseFault) : undefined;
  };

  async #printHelp({ command, isError }: HelpRequest, argv: readonly string[]): Promise<void> {
    if (command === this.root) return await printProgramHelp(argv, this.#context);
    const width = helpWidth(this.#context);
    const text = wantsShortHelp(argv) ? shortHelp(command, width) : fullHelp(command, width);
    if (!isError) return await printHelp(text, argv, this.#context);
    if ((await this.settings()).errorFormat === 'text') await this.#context.stderr.write(text);
    const next = advise`choose one of those that ${hooktrail(`${command.name()} --help`)} lists`;
    throw new UsageError('a command is missing', { next });
  }

  async #act(command: Command, run: Run<never>): Promise<void> {
    if (this.#isTrial) return;
    const flags = command.optsWithGlobals() as GlobalFlags & OutputFlags & Pick<FormatFlags, 'jq'>;
    this.#flags = flags;
    const settings = await this.settings();
    const work = async (context: Context) => {
      const { createReporter } = await import('../terminal/reporter.ts');
      const reporter = await createReporter(context, flags, settings.errorFormat);
      const { args } = command;
      const rest = { args, settings, command, context, reporter, invoke: this.#invoke, commands: this };
      return await withJq(flags.jq, context, async () => {
        return (await run({ flags: flags as never, ...rest })) ?? ExitCode.done;
      });
    };
    const context = this.#context;
    if (flags.outputFile !== undefined) {
      const { writingTo } = await import('../formats/output-file.ts');
      this.#exitCode = await writingTo(flags.outputFile, context, work);
    } else {
      const isPaged = flags.pager === true && context.stdout.isTerminal;
      this.#exitCode = await (isPaged ? withPager(context, work) : work(context));
    }
  }
}

/** Compiles the program of `--jq` before anything is sent or printed, and ends its thread afterwards. */
async function withJq<Result>(
  program: string | undefined,
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  if (program === undefined) return await work();
  const { startJq } = await import('../formats/jq.ts');
  const jq = await startJq(program, context);
  try {
    return await work();
  } finally {
    await jq.end();
  }
}

class LazyCommand extends Command implements TreeCommand, StrictCommand {
  module?: Pick<CommandModule, 'help' | 'examples' | 'commonFlags'>;

  override createCommand(name?: string): LazyCommand {
    return new LazyCommand(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    try {
      return super.error(message, options);
    } catch (error) {
      throw Object.assign(error as CommanderError, { command: this });
    }
  }

  // Commander calls these three, which its types lack. Its own versions put the subject of the error only
  // into the message.

  unknownOption(flag: string): never {
    this.#refuse(`unknown option '${flag}'`, { flag });
  }

  optionMissingArgument(option: Option): never {
    this.#refuse(`option '${option.flags}' argument missing`, { option });
  }

  missingArgument(name: string): never {
    this.#refuse(`missing required argument '${name}'`, { argument: name });
  }

  #refuse(message: string, subject: FaultSubject): never {
    const fault = new CommanderError(ExitCode.usage, 'hooktrail.refused', message);
    throw Object.assign(fault, subject, { command: this });
  }

  /** Commander calls it when help was requested, or a group's command is missing. */
  override outputHelp(options?: HelpContext | ((text: string) => string)): void {
    const isError = typeof options === 'object' && options.error;
    throw Object.assign(new HelpRequest('help'), { command: this, isError });
  }
}

/** Thrown instead of printing help, since commander's own printing cannot wait for a pager. */
class HelpRequest extends Error {
  declare readonly command: LazyCommand;
  declare readonly isError: boolean;
}
