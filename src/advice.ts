import { flagWords, shellWord } from './shell-words.ts';

/**
 * A sentence that says how to go on. Where it names commands of hooktrail it has them as parts, so that they
 * get the flags of the run when it is printed.
 */
export type Advice = string | AdviceParts;

/** The flags of a run that the commands it advises need too. */
export interface RunFlags {
  readonly profile?: string;
  /** Of `login`. */
  readonly store?: string;
}

/** Commands that no profile changes. */
const WITHOUT_PROFILE: readonly string[] = [
  'keygen',
  'sandbox',
  'demo',
  'completion',
  'help',
  'profiles',
  'version',
];

/** A command of hooktrail, as words of a shell. */
export class AdvisedCommand {
  /** Behind `hooktrail`; a value of the user's is quoted where the shell needs it. */
  readonly words: readonly string[];
  /** True if it reads events from a pipe, which has to be piped again. */
  readonly isPiped: boolean;

  constructor(words: readonly string[], isPiped = false) {
    this.words = words;
    this.isPiped = isPiped;
  }

  /**
   * Returns the line to type, so that it means the profile and the store that this run was told to use: with
   * `--profile night`, `hooktrail login` becomes `hooktrail login --profile night`.
   */
  textFor(run: RunFlags): string {
    const flags = flagWords(this.#missingFlags(run), ['profile', 'store']).map(shellWord);
    return [...(this.isPiped ? ['… |'] : []), 'hooktrail', ...this.words, ...flags].join(' ');
  }

  #missingFlags({ profile, store }: RunFlags): RunFlags {
    const [name = ''] = this.words;
    if (WITHOUT_PROFILE.includes(name) || this.words.at(-1) === '--help') return {};
    return {
      ...(profile !== undefined && !this.words.includes('--profile') ? { profile } : {}),
      ...(store !== undefined && name === 'login' && !this.words.includes('--store') ? { store } : {}),
    };
  }
}

/** What stands between the texts of some advice. */
type AdvicePart = Advice | AdvisedCommand | number;

class AdviceParts {
  /** One more than the values, which stand between them. */
  readonly texts: readonly string[];
  readonly values: readonly AdvicePart[];

  constructor(texts: readonly string[], values: readonly AdvicePart[]) {
    this.texts = texts;
    this.values = values;
  }

  textFor(run: RunFlags): string {
    const [first = '', ...others] = this.texts;
    return others.reduce(
      (before, text, index) => before + partText(this.values[index] as AdvicePart, run) + text,
      first,
    );
  }

  /** For a template without its tag: the text still reads, though its commands lack the flags. */
  toString(): string {
    return this.textFor({});
  }
}

function partText(part: AdvicePart, run: RunFlags): string {
  if (part instanceof AdvisedCommand) return `\`${part.textFor(run)}\``;
  return part instanceof AdviceParts ? part.textFor(run) : String(part);
}

/**
 * The tag of a template that names commands: ``advise`run ${hooktrail('login')}` ``. It puts them into
 * backquotes, and takes other advice in.
 */
export function advise(texts: TemplateStringsArray, ...values: readonly AdvicePart[]): Advice {
  return new AdviceParts(texts, values);
}

/**
 * A command of hooktrail: words of ours with spaces between them, then values, which are quoted where a shell
 * needs it.
 */
export function hooktrail(words: string, ...values: readonly string[]): AdvisedCommand {
  return new AdvisedCommand([...words.split(' '), ...values.map(shellWord)]);
}

/** The same over the stored events that were read; those of a pipe have to be piped again. */
export function hooktrailOver(
  from: string | undefined,
  words: string,
  ...values: readonly string[]
): AdvisedCommand {
  const place = from === undefined ? [] : ['--from', from];
  const own = [...words.split(' '), ...[...values, ...place].map(shellWord)];
  return new AdvisedCommand(own, from === '-');
}

/** The text of some advice in a run with these flags. */
export function adviceText(advice: Advice, run: RunFlags): string {
  return typeof advice === 'string' ? advice : advice.textFor(run);
}
