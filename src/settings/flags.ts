import { Option } from 'commander';

/**
 * Facts about a flag as values: help formats them as text, `help --json` and completion use them directly.
 */
export interface FlagFacts {
  readonly preset?: string | number | undefined;
  readonly variables?: readonly string[] | undefined;
  readonly isRepeatable?: true | undefined;
}

/** commander's own `default` would look like a flag that was given, and its `env` reads the process. */
export class Flag extends Option {
  readonly facts: FlagFacts;

  constructor(
    flags: string,
    description: string,
    facts: FlagFacts,
    parse?: ((text: string) => unknown) & { readonly words?: readonly string[] },
  ) {
    super(flags, description);
    this.facts = facts;
    if (parse) this.argParser(parse);
    if (parse?.words) this.argChoices = [...parse.words];
  }
}

export function listFlag(flags: string, description: string): Flag {
  return new Flag(flags, description, { isRepeatable: true }).argParser(collected);
}

function collected(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/** Flags of jq itself, which people write after ours. */
export const JQ_FLAG = /^(-[rc]+|--raw-output|--compact-output)$/;
