import { Option } from 'commander';

/**
 * What a flag says of itself as values: help makes text of them, `help --json` and completion take them as
 * they are.
 */
export interface FlagFacts {
  /** The value without the flag, or words for one that depends on more. */
  readonly preset?: string | number | undefined;
  /** The environment variables that give the value too. */
  readonly variables?: readonly string[] | undefined;
  readonly isRepeatable?: true | undefined;
}

/**
 * An option with its facts. commander's own `default` would look like a flag that was given, and its `env`
 * reads the process.
 */
export class Flag extends Option {
  readonly facts: FlagFacts;

  constructor(flags: string, description: string, facts: FlagFacts, parse?: (text: string) => unknown) {
    super(flags, description);
    this.facts = facts;
    if (parse) this.argParser(parse);
  }
}

/** A flag that may be given several times; its value is a list. */
export function listFlag(flags: string, description: string): Flag {
  return new Flag(flags, description, { isRepeatable: true }).argParser(collected);
}

function collected(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/** Flags of jq itself, which people write after ours. */
export const JQ_FLAG = /^(-[rc]+|--raw-output|--compact-output)$/;
