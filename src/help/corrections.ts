import type { Command, CommanderError, Option } from 'commander';
import type { CommandTree } from '../command.ts';
import { UsageError } from '../errors.ts';
import { isGuid } from '../json/items.ts';
import { nearest, shellWord } from '../settings/flag-values.ts';
import { explanationOf, pathOf } from './help-text.ts';

/** A flag that stands for what was typed: the first that the command has; with a value where the typed one has none. */
type Meaning = readonly string[];

/** Flags of other programs, and of the service's own fields, by what they mean here. */
const FLAG_SYNONYMS: readonly (readonly [typed: string, meaning: Meaning])[] = [
  ['--format --output-format --out', ['--output']],
  ['--file --out-file --output-to --save', ['--output-file']],
  ['--event-id --event --ids', ['--id']],
  ['--event-type --types --topic --event-name', ['--type']],
  ['--subscription-id --sub', ['--subscription']],
  ['--publish-status --delivery-status --state', ['--status']],
  ['--start --start-time --begin --last --period --newer-than --from-time --from-date', ['--since']],
  ['--end --end-time --to --older-than --to-time --to-date', ['--until']],
  ['--filter --selector --field-selector --condition', ['--where', '--match']],
  ['--search --text --contains --find', ['--grep', '--match']],
  ['--tail --head --max --max-items --max-results --size --top --lines -c', ['--limit', '--count']],
  ['--columns --select --field --cols', ['--fields']],
  ['--query --filter-output', ['--jq']],
  ['--jsonl --json-lines', ['--ndjson']],
  ['--tz --zone --time-zone', ['--timezone']],
  ['--no-headers --no-headings', ['--no-header']],
  ['--failures --errors --failed-only --error', ['--failed']],
  ['--server --url --endpoint --host --api-url --service', ['--base-url']],
  ['--group-by --group', ['--by']],
  ['--handler --target --forward --destination', ['--forward-to']],
  ['--data --body-file', ['--input', '--body']],
  ['--dryrun --preview', ['--dry-run']],
  ['--force --confirm -y', ['--yes', '--replace']],
  ['--env --environment --context -p', ['--profile']],
  ['--silent -q -s', ['--quiet']],
  ['-d -vv', ['--debug']],
];

/** Switches that stand for a flag with a value. */
const SWITCH_SYNONYMS: Readonly<Record<string, readonly [flag: string, value: string]>> = {
  '--utc': ['--timezone', 'UTC'],
  '--local': ['--timezone', 'local'],
  '--local-time': ['--timezone', 'local'],
  '--success': ['--status', 'SUCCESS'],
  '--succeeded': ['--status', 'SUCCESS'],
  '--delivered': ['--status', 'SUCCESS'],
  '--table': ['--output', 'table'],
  '--markdown': ['--output', 'markdown'],
};

/** Short switches before a command, where they mean what other programs mean by them. */
const EARLY_SWITCHES: Readonly<Record<string, string>> = { '-q': '--quiet', '-d': '--debug' };

/** Flags that ask for an order. */
const ORDER = new Set([
  '--sort',
  '--sort-by',
  '--order',
  '--order-by',
  '--oldest',
  '--oldest-first',
  '--asc',
  '--desc',
]);
/** Flags that ask to be kept up to date, which is another command. */
const FOLLOW = new Set(['--follow', '--watch', '--live', '-f', '-w']);

/** Secrets that people type as arguments, where other users and the shell's history see them. */
const SECRET_FLAGS: Readonly<Record<string, string>> = {
  '--client-secret':
    '`hooktrail login` asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET',
  '--secret':
    '`hooktrail login` asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET',
  '--token': 'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
  '--access-token':
    'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
  '--passphrase': 'set HOOKTRAIL_PASSPHRASE, HOOKTRAIL_PASSPHRASE_FILE or HOOKTRAIL_PASSPHRASE_COMMAND',
  '--password': 'set HOOKTRAIL_PASSPHRASE, HOOKTRAIL_PASSPHRASE_FILE or HOOKTRAIL_PASSPHRASE_COMMAND',
  '--api-token': 'set HOOKTRAIL_API_TOKEN, or save it with `hooktrail webhooks listen --save-token`',
};

/** Explains why commander refuses a line, with the corrected line as the next step where there is one. */
export async function usageErrorFor(
  error: CommanderError,
  argv: readonly string[],
  tree: CommandTree,
): Promise<UsageError> {
  const line = new Line(tree, argv);
  const problem = await line.correct();
  if (problem) return problem;
  const help = `\`${line.path} --help\``;
  const value = /^error: option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/.exec(error.message);
  if (value) return new UsageError(`${value[1]} needs a value: ${value[2]}`, { next: `${help} says which` });
  const argument = /^error: missing required argument '(.*)'$/.exec(error.message)?.[1];
  if (argument === undefined)
    return new UsageError(error.message.replace(/^error: /, ''), { next: `${help} shows what it takes` });
  const [example] = explanationOf(line.command).examples;
  return new UsageError(`${line.words} needs <${argument}>`, {
    next: example ? `for instance ${example.replace(/^\$ (.*?)( {2,}#.*)?$/, '`$1`')}` : help,
  });
}

/** The line with the value that was meant, if the value stands in the line. */
export function withCorrectedValue(error: UsageError, argv: readonly string[]): UsageError {
  const { correction, message, details } = error;
  if (!correction) return error;
  const at = argv.findIndex((word) => word === correction.typed || word.endsWith(`=${correction.typed}`));
  if (at === -1) return error;
  const word = argv[at] as string;
  const meant = word.slice(0, word.length - correction.typed.length) + correction.meant;
  const words = argv.toSpliced(at, 1, meant, ...(correction.followedBy ?? []));
  const next = ['hooktrail', ...words].map(shellWord).join(' ');
  return new UsageError(message, { details, next });
}

/** A command line that was refused, while it is being corrected. */
class Line {
  readonly #tree: CommandTree;
  readonly #typed: readonly string[];
  /** The command that the words name so far. */
  command: Command;
  /** The faults, in the order of the line; the error names the first. */
  readonly #problems: string[] = [];

  constructor(tree: CommandTree, argv: readonly string[]) {
    this.#tree = tree;
    this.#typed = argv;
    this.command = tree.root;
  }

  /** The command as it is typed: `hooktrail events search`. */
  get path(): string {
    return pathOf(this.command);
  }

  /** The same without the program's name. */
  get words(): string {
    return pathOf(this.command).replace(/^\S+ ?/, '');
  }

  /** Returns the error for the first thing that commander does not know, or undefined if it knows all. */
  async correct(): Promise<UsageError | undefined> {
    const end = this.#typed.indexOf('--');
    const [typed, literal] =
      end === -1 ? [this.#typed, []] : [this.#typed.slice(0, end), this.#typed.slice(end)];
    const rest = await this.#findCommand(typed);
    if (rest instanceof UsageError) return rest;
    await this.#followInstead(rest);
    const corrected = this.#correctFlags(rest);
    if (corrected instanceof UsageError) return corrected;
    const [message] = this.#problems;
    if (message === undefined) return undefined;
    const next = [pathOf(this.command), ...[...corrected, ...literal].map(shellWord)].join(' ');
    return new UsageError(message, { next });
  }

  /** Finds the command, and returns the words of the line that do not name it: flags before it belong behind it. */
  async #findCommand(typed: readonly string[]): Promise<string[] | UsageError> {
    const rest: string[] = [];
    const early: string[] = [];
    let at = 0;
    while (at < typed.length) {
      await this.#tree.declare(this.command);
      if (this.command.commands.length === 0) break;
      const word = typed[at] as string;
      const switched = EARLY_SWITCHES[word];
      if (switched) {
        this.#problems.push(`unknown option '${word}'`);
        rest.push(switched);
        at++;
        continue;
      }
      if (word.startsWith('-')) {
        const option = this.#optionNamed(word);
        const takesNext = option
          ? (option.required || option.optional) && !word.includes('=')
          : !word.includes('=') && typed[at + 1] !== undefined && !this.#isCommand(typed[at + 1] as string);
        rest.push(...typed.slice(at, at + (takesNext ? 2 : 1)));
        if (!option) early.push(word);
        at += takesNext ? 2 : 1;
        continue;
      }
      const child = this.command.commands.find((one) => one.name() === word);
      if (child) this.command = child;
      else {
        const found = await this.#commandMeant(word, typed[at + 1]);
        if (found instanceof UsageError) return found;
        this.#problems.push(`unknown command '${word}'`);
        this.command = found.command;
        at += found.words - 1;
      }
      at++;
    }
    await this.#tree.declare(this.command);
    const misplaced = early.find((flag) => this.#optionNamed(flag));
    if (misplaced && this.#problems.length === 0)
      this.#problems.push(`${misplaced.replace(/=.*/, '')} stands before the command`);
    return [...rest, ...typed.slice(at)];
  }

  /** What is to be kept up to date is another command. */
  async #followInstead(words: readonly string[]): Promise<void> {
    const asks = words.some((word) => FOLLOW.has(word) && !this.#optionNamed(word));
    const watch = this.command.parent?.commands.find((one) => one.name() === 'watch');
    if (!asks || !watch) return;
    this.command = watch;
    await this.#tree.declare(watch);
  }

  #isCommand(word: string): boolean {
    return this.command.commands.some((one) => one.name() === word);
  }

  /** The command that an unknown word means, and how many words named it. */
  async #commandMeant(
    word: string,
    following: string | undefined,
  ): Promise<{ command: Command; words: number } | UsageError> {
    const siblings = this.command.commands;
    const isMeantBy = (typed: string) => (one: Command) => this.#tree.alsoCalled(one).includes(typed);
    for (const typed of [`${word} ${following}`, word]) {
      const words = typed === word ? 1 : 2;
      const sibling = siblings.find(isMeantBy(typed));
      if (sibling) return { command: sibling, words };
      const all = await this.#allCommands();
      const elsewhere = all.filter((one) => one.name() === typed || isMeantBy(typed)(one));
      if (elsewhere.length === 1) return { command: elsewhere[0] as Command, words };
      if (elsewhere.length > 1) {
        const paths = elsewhere.map((one) => `\`${pathOf(one)}\``);
        return new UsageError(`unknown command '${word}'`, { next: `did you mean ${orList(paths)}?` });
      }
    }
    const visible = this.command.createHelp().visibleCommands(this.command);
    const near = nearest(
      word,
      visible.map((one) => one.name()),
    );
    const command = near && siblings.find((one) => one.name() === near);
    if (command) return { command, words: 1 };
    return new UsageError(`unknown command '${word}'`, {
      next: `\`${this.path} --help\` lists the commands`,
    });
  }

  async #allCommands(): Promise<Command[]> {
    const groups = this.#tree.root.commands;
    for (const group of groups) if (this.#tree.isGroup(group)) await this.#tree.declare(group);
    return groups.flatMap((one) => [one, ...one.commands.filter((child) => child.name() !== 'help')]);
  }

  get #options(): Option[] {
    const own = this.command.options;
    return this.command.parent ? [...own, ...this.#tree.root.options] : [...own];
  }

  #optionNamed(word: string): Option | undefined {
    const name = word.replace(/=.*/s, '');
    if (name === '--help' || name === '-h')
      return this.command.createHelp().visibleOptions(this.command).at(-1);
    const named = this.#options.find(({ long, short }) => long === name || short === name);
    if (named || !/^-[A-Za-z]./.test(word)) return named;
    // A short option with its value, as in `-n5`.
    return this.#options.find(({ short }) => short === word.slice(0, 2));
  }

  #has(flag: string): boolean {
    return this.#options.some(({ long }) => long === flag);
  }

  /** Replaces flags that the command does not have, and words that it does not take. */
  #correctFlags(words: readonly string[]): string[] | UsageError {
    const corrected: string[] = [];
    const operands: string[] = [];
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      if (!word.startsWith('-') || word === '-') {
        operands.push(word);
        corrected.push(word);
        continue;
      }
      const [name = '', inline] = word.split(/=(.*)/s);
      const option = this.#optionNamed(word);
      if (option) {
        const takesValue = option.required || option.optional;
        if (takesValue) {
          corrected.push(word);
          const isApart = word === option.long || word === option.short;
          const following = words[at + 1];
          const isValue = following !== undefined && (option.required || !following.startsWith('-'));
          if (isApart && isValue) {
            corrected.push(following);
            at++;
          }
        } else if (inline === undefined) corrected.push(word);
        else {
          this.#problems.push(`${name} takes no value`);
          if (!/^(false|no|off|0)$/i.test(inline)) corrected.push(name);
        }
        continue;
      }
      const secret = SECRET_FLAGS[name];
      if (secret) return new UsageError(`${name}: a secret is never an argument`, { next: secret });
      this.#problems.push(`unknown option '${name}'`);
      const following = words[at + 1]?.startsWith('-') ? undefined : words[at + 1];
      const value = inline ?? following;
      const meant = this.#flagMeant(name, value);
      if (meant === undefined) {
        const [message = ''] = this.#problems;
        const next = /^--colou?r$/.test(name)
          ? 'colour is on for a terminal; FORCE_COLOR=1 in the environment forces it, --no-color turns it off'
          : `\`${this.path} --help\` shows its flags`;
        return new UsageError(message, { next });
      }
      corrected.push(...meant.words);
      if (meant.takesValue && inline === undefined && following !== undefined) at++;
    }
    return this.#correctOperands(corrected, operands);
  }

  /** The words for a flag that the command does not have. */
  #flagMeant(name: string, value: string | undefined): { words: string[]; takesValue: boolean } | undefined {
    const withValue = (flag: string) => ({
      words: value === undefined ? [flag] : [flag, value],
      takesValue: true,
    });
    if (FOLLOW.has(name) && this.command.name() === 'watch') return { words: [], takesValue: false };
    if (/^--colou?r$/.test(name) && value !== undefined)
      return /^(never|false|no|off)$/.test(value) ? { words: ['--no-color'], takesValue: true } : undefined;
    if (ORDER.has(name) && this.#has('--reverse')) {
      const isBare = /^--(oldest|asc|desc)/.test(name);
      const isNewest = name === '--desc' || /^-|desc|newest/i.test(value ?? '');
      return { words: isNewest ? [] : ['--reverse'], takesValue: !isBare };
    }
    const [flag, given] = SWITCH_SYNONYMS[name] ?? [];
    if (flag && given && this.#has(flag)) return { words: [flag, given], takesValue: false };
    const isAddress = value !== undefined && /^https?:/.test(value);
    if (name === '--to' && isAddress && this.#has('--forward-to')) return withValue('--forward-to');
    const meaning = FLAG_SYNONYMS.find(([typed]) => typed.split(' ').includes(name))?.[1];
    const synonym = meaning?.find((one) => this.#has(one));
    // A flag that means something elsewhere is not misspelt.
    const isMisspelt = !meaning && name.startsWith('--');
    const names = this.#options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
    const flagName = isMisspelt ? nearest(name, names) : synonym;
    const found = this.#options.find(({ long }) => long === flagName);
    if (!found?.long) return undefined;
    // Without a value it would take the next flag for one.
    if (found.required) return value === undefined ? undefined : withValue(found.long);
    return { words: [found.long], takesValue: false };
  }

  /** Words of a command that takes fewer become the flag that they are the value of. */
  #correctOperands(words: string[], operands: readonly string[]): string[] | UsageError {
    const { registeredArguments } = this.command;
    if (registeredArguments.some(({ variadic }) => variadic) || this.command.commands.length > 0)
      return words;
    const extra = operands.slice(registeredArguments.length);
    const [first] = extra;
    if (first === undefined) return words;
    const taken =
      registeredArguments.length === 0 ? 'no words' : `only <${registeredArguments.at(-1)?.name()}>`;
    this.#problems.push(`${this.words} takes ${taken}, but was given '${first}'`);
    const corrected = [...words];
    for (const word of extra) {
      const flag = this.#flagForWord(word, words);
      if (flag === undefined) {
        const [message = ''] = this.#problems;
        const next = this.#has('--since')
          ? 'events are chosen by filters: see `hooktrail help filters`'
          : `\`${this.path} --help\` shows what it takes`;
        return new UsageError(message, { next });
      }
      corrected.splice(corrected.lastIndexOf(word), 1, ...flag);
    }
    return corrected;
  }

  #flagForWord(word: string, words: readonly string[]): string[] | undefined {
    if (/^failed$/i.test(word) && this.#has('--failed')) return ['--failed'];
    if (/^success$/i.test(word) && this.#has('--status')) return ['--status', 'SUCCESS'];
    if (isGuid(word) && this.#has('--id')) return ['--id', word];
    if (/^https?:/.test(word)) {
      const flag = ['--forward-to', '--auth-url', '--base-url'].find((one) => this.#has(one));
      return flag === undefined ? undefined : [flag, word];
    }
    const isList = /^[\w.-]+(,[\w.-]+)*$/.test(word);
    if (isList && words.includes('--json') && this.#has('--fields')) return ['--fields', word];
    if (/^[\w-]+\.[\w.*-]+$/.test(word) && this.#has('--type')) return ['--type', word];
    return undefined;
  }
}

function orList(texts: readonly string[]): string {
  return `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}
