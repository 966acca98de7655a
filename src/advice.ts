import { flagWords, isOfThisProcess, shellWord } from './shell-words.ts';

/**
 * A sentence about how to continue. Commands of hooktrail are separate parts, so that they get the flags of
 * the run when printed.
 */
export type Advice = string | AdviceParts;

export interface RunFlags {
  readonly profile?: string;
  /** Only for `login`. */
  readonly store?: string;
}

/** Commands independent of profiles. */
const WITHOUT_PROFILE: readonly string[] = [
  'keygen',
  'sandbox',
  'demo',
  'completion',
  'help',
  'profiles',
  'version',
];

export class AdvisedCommand {
  /** Words after `hooktrail`; user values are quoted where the shell needs it. */
  readonly words: readonly string[];
  /** True if it reads events from a pipe, which has to be piped again. */
  readonly isPiped: boolean;

  constructor(words: readonly string[], isPiped = false) {
    this.words = words;
    this.isPiped = isPiped;
  }

  /**
   * Returns the line to type, with the run's profile and store: with `--profile night`, `hooktrail login`
   * becomes `hooktrail login --profile night`.
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

type AdvicePart = Advice | AdvisedCommand | number;

class AdviceParts {
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

  /** Covers a template without its tag: the text is readable, though its commands lack the flags. */
  toString(): string {
    return this.textFor({});
  }
}

function partText(part: AdvicePart, run: RunFlags): string {
  if (part instanceof AdvisedCommand) return `\`${part.textFor(run)}\``;
  return part instanceof AdviceParts ? part.textFor(run) : String(part);
}

/**
 * Tags a template with commands: ``advise`run ${hooktrail('login')}` ``. Puts them into backquotes, and
 * includes other advice.
 */
export function advise(texts: TemplateStringsArray, ...values: readonly AdvicePart[]): Advice {
  return new AdviceParts(texts, values);
}

/**
 * Builds a command from our own words, separated by spaces, and then values, which are quoted where a shell
 * needs it.
 */
export function hooktrail(words: string, ...values: readonly string[]): AdvisedCommand {
  return new AdvisedCommand([...words.split(' '), ...values.map(shellWord)]);
}

/** Like `hooktrail`, for the stored events that were read; those of a pipe have to be piped again. */
export function hooktrailOver(
  from: string | undefined,
  words: string,
  ...values: readonly string[]
): AdvisedCommand {
  const isPiped = from !== undefined && isOfThisProcess(from);
  const place = from === undefined ? [] : ['--from', isPiped ? '-' : from];
  const own = [...words.split(' '), ...[...values, ...place].map(shellWord)];
  return new AdvisedCommand(own, isPiped);
}

export function adviceText(advice: Advice, run: RunFlags): string {
  return typeof advice === 'string' ? advice : advice.textFor(run);
}
