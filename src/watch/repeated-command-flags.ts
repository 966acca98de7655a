import { type Call, typedWords } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { RepeatedCommandOptions } from './command-runner.ts';

export interface RepeatedCommandFlags {
  /** Milliseconds. */
  readonly retryFor?: number;
}

/**
 * Undefined without a command. Throws `UsageError` if something about a command is given without one:
 * `-- $COMMAND` with the variable unset must not print the events instead, which would count them as handled.
 */
export function repeatedCommandOf(
  { flags, args: words, commands }: Pick<Call<RepeatedCommandFlags>, 'flags' | 'args' | 'commands'>,
  subject: 'event' | 'change',
): RepeatedCommandOptions | undefined {
  if (words.length > 0) return { words, retryForMs: flags.retryFor ?? Number.POSITIVE_INFINITY };
  if (isCommandTyped({ commands }))
    throw new UsageError('the command after -- is missing', {
      next: `give the program and its arguments there, or leave -- out to print the ${subject}s`,
    });
  if (flags.retryFor !== undefined)
    throw new UsageError(`--retry-for needs a command to run for each ${subject}`, {
      next: 'give the command at the end of the line, after --',
    });
  return undefined;
}

export function isCommandTyped({ commands }: Pick<Call, 'commands'>): boolean {
  return typedWords(commands.root).behind.length > 0;
}
