import type { Command, CommanderError, Option } from 'commander';
import type { CommandTree } from '../command.ts';
import { UsageError } from '../errors.ts';
import { isGuid } from '../json/items.ts';
import { nearest, shellWord } from '../settings/flag-values.ts';
import { explanationOf, pathOf, wordsOf } from './help-text.ts';

/** Words that people try for a command. */
const COMMAND_SYNONYMS: Readonly<Record<string, string>> = {
  login: 'auth login, auth, signin, sign-in, configure, init, setup',
  logout: 'auth logout, signout, sign-out',
  status: 'auth status, whoami, me',
  token: 'auth token, auth print-access-token',
  'event-types': 'types, topics',
  'events search': 'list, ls, find, query, logs, log',
  'events browse': 'open, tui, ui',
  'events get': 'show, view, describe, inspect',
  'events stats': 'statistics, summary, metrics',
  'events watch': 'tail, follow, logs tail',
  'events explain': 'why, diagnose',
  'events health': 'subscriptions',
  'events export': 'download, dump',
  'webhooks listen': 'forward, receive, serve',
  'webhooks recover': 'catch-up',
  'webhooks replay': 'retry, resend, redeliver',
  'webhooks send': 'test, trigger',
  profiles: 'profile, contexts, environments',
  config: 'settings, configuration',
  doctor: 'check, diagnose',
  sandbox: 'mock, server',
  help: 'man, docs',
};

/**
 * Flags of other programs, and of the service's own fields: each stands for the first of its meanings that the command has.
 * A flag with a value stands for a switch.
 */
const FLAG_SYNONYMS: readonly (readonly [typed: string, ...meanings: string[]])[] = [
  ['--format --output-format --out', '--output'],
  ['--file --out-file --output-to --save', '--output-file'],
  ['--event-id --event --ids', '--id'],
  ['--event-type --types --topic --event-name', '--type'],
  ['--subscription-id --sub', '--subscription'],
  ['--publish-status --delivery-status --state', '--status'],
  ['--start --start-time --begin --last --period --newer-than --from-time --from-date', '--since'],
  ['--end --end-time --to --older-than --to-time --to-date', '--until'],
  ['--filter --selector --field-selector --condition', '--where', '--match'],
  ['--search --text --contains --find', '--grep', '--match'],
  ['--tail --head --max --max-items --max-results --size --top --lines -c', '--limit', '--count'],
  ['--columns --select --field --cols', '--fields'],
  ['--query --filter-output', '--jq'],
  ['--jsonl --json-lines', '--ndjson'],
  ['--table', '--output table'],
  ['--markdown', '--output markdown'],
  ['--tz --zone --time-zone', '--timezone'],
  ['--utc', '--timezone UTC'],
  ['--local --local-time', '--timezone local'],
  ['--no-headers --no-headings', '--no-header'],
  ['--failures --errors --failed-only --error', '--failed'],
  ['--success --succeeded --delivered', '--status SUCCESS'],
  ['--oldest --oldest-first --asc', '--reverse'],
  ['--server --url --endpoint --host --api-url --service', '--base-url'],
  ['--group-by --group', '--by'],
  ['--handler --target --forward --destination', '--forward-to'],
  ['--data --body-file', '--input', '--body'],
  ['--dryrun --preview', '--dry-run'],
  ['--force --confirm -y', '--yes', '--replace'],
  ['--env --environment --context -p', '--profile'],
  ['--silent -q -s', '--quiet'],
  ['-d', '--debug'],
];

/** Flags that ask to be kept up to date, which is another command. */
const FOLLOW = new Set(['--follow', '--watch', '--live', '-f', '-w']);

/** Secrets that people type as arguments, where other users and the shell's history see them. */
const SECRET_FLAGS: readonly (readonly [typed: string, next: string])[] = [
  [
    '--client-secret --secret',
    '`hooktrail login` asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET',
  ],
  [
    '--token --access-token',
    'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
  ],
  [
    '--passphrase --password',
    'set HOOKTRAIL_PASSPHRASE, HOOKTRAIL_PASSPHRASE_FILE or HOOKTRAIL_PASSPHRASE_COMMAND',
  ],
  ['--api-token', 'set HOOKTRAIL_API_TOKEN, or save it with `hooktrail webhooks listen --save-token`'],
];

/** Explains why commander refuses a line, with the corrected line as the next step where there is one. */
export async function usageErrorFor(
  error: CommanderError,
  argv: readonly string[],
  tree: CommandTree,
): Promise<UsageError> {
  const line = new Line(tree);
  const corrected = await line.correct(argv);
  if (corrected) return corrected;
  const help = `\`${pathOf(line.command)} --help\``;
  const value = /^error: option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/.exec(error.message);
  if (value) return new UsageError(`${value[1]} needs a value: ${value[2]}`, { next: `${help} says which` });
  const argument = /^error: missing required argument '(.*)'$/.exec(error.message)?.[1];
  if (argument === undefined)
    return new UsageError(error.message.replace(/^error: /, ''), { next: `${help} shows what it takes` });
  const [example] = explanationOf(line.command).examples;
  return new UsageError(`${wordsOf(line.command)} needs <${argument}>`, {
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

/** The name of a command, and the words that people try for it. */
export function namesOf(command: Command): string[] {
  return [command.name(), ...(COMMAND_SYNONYMS[wordsOf(command)]?.split(', ') ?? [])];
}

/** A command line that was refused, while it is being corrected. */
class Line {
  readonly #tree: CommandTree;
  /** The command that the words name so far. */
  command: Command;
  /** The faults, in the order of the line; the error names the first. */
  readonly #problems: string[] = [];

  constructor(tree: CommandTree) {
    this.#tree = tree;
    this.command = tree.root;
  }

  /**
   * Returns the error for the first thing that commander does not know, with the corrected line, or undefined if commander
   * knows all. Throws the error if no line can be meant.
   */
  async correct(argv: readonly string[]): Promise<UsageError | undefined> {
    const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
    const rest = await this.#findCommand(argv.slice(0, end));
    await this.#followInstead(rest);
    const words = [...this.#correctWords(rest), ...argv.slice(end)];
    if (this.#problems.length === 0) return undefined;
    return this.#error([pathOf(this.command), ...words.map(shellWord)].join(' '));
  }

  #error(next: string): UsageError {
    return new UsageError(this.#problems[0] as string, { next });
  }

  /** Finds the command, and returns the words of the line that do not name it: flags before it belong behind it. */
  async #findCommand(typed: readonly string[]): Promise<string[]> {
    const early: string[] = [];
    const words = [...typed];
    while (this.command.commands.length > 0 && words.length > 0) {
      const word = words.shift() as string;
      if (word === '-q') {
        // Some commands have it for --jq, which nobody means before the command.
        this.#problems.push("unknown option '-q'");
        early.push('--quiet');
        continue;
      }
      if (word.startsWith('-')) {
        early.push(word);
        if (this.#takesNext(word, words[0])) early.push(words.shift() as string);
        continue;
      }
      const child = this.command.commands.find((one) => one.name() === word);
      if (!child) this.#problems.push(`unknown command '${word}'`);
      this.command = child ?? this.#commandMeant(word, words);
    }
    await this.#tree.declare(this.command);
    const misplaced = early.find((word) => {
      const option = word.startsWith('-') ? this.#optionNamed(word) : undefined;
      return option !== undefined && !this.#tree.root.options.includes(option);
    });
    if (misplaced && this.#problems.length === 0)
      this.#problems.push(`${misplaced.replace(/=.*/, '')} stands before the command`);
    return [...early, ...words];
  }

  /** A flag that is not known before its command takes the next word if that names no command. */
  #takesNext(flag: string, next: string | undefined): boolean {
    if (flag.includes('=') || next === undefined) return false;
    const option = this.#optionNamed(flag);
    return option ? takesValue(option) : !this.command.commands.some((one) => one.name() === next);
  }

  /** Returns the command that an unknown word means, together with the one that follows it if both are its name. */
  #commandMeant(word: string, following: string[]): Command {
    const siblings = this.command.commands;
    const all = this.#tree.root.commands.flatMap((one) => [one, ...one.commands]);
    for (const typed of [`${word} ${following[0]}`, word]) {
      const isCalled = (one: Command) => namesOf(one).includes(typed);
      const sibling = siblings.find(isCalled);
      const called = sibling ? [sibling] : all.filter(isCalled);
      if (called.length > 1)
        throw this.#error(`did you mean ${orList(called.map((one) => `\`${pathOf(one)}\``))}?`);
      if (called.length === 0) continue;
      if (typed !== word) following.shift();
      return called[0] as Command;
    }
    const visible = this.command.createHelp().visibleCommands(this.command);
    const near = nearest(
      word,
      visible.map((one) => one.name()),
    );
    const command = siblings.find((one) => one.name() === near);
    if (command) return command;
    throw this.#error(`\`${pathOf(this.command)} --help\` lists the commands`);
  }

  async #followInstead(words: readonly string[]): Promise<void> {
    const asks = words.some((word) => FOLLOW.has(word) && !this.#optionNamed(word));
    const watch = this.command.parent?.commands.find((one) => one.name() === 'watch');
    if (!asks || !watch) return;
    this.command = watch;
    await this.#tree.declare(watch);
  }

  get #options(): readonly Option[] {
    return [...new Set([...this.command.options, ...this.#tree.root.options])];
  }

  #optionNamed(word: string): Option | undefined {
    // A short option may have its value behind it, as in `-n5`.
    const name = word.startsWith('--') ? word.replace(/=.*/s, '') : word.slice(0, 2);
    return this.#options.find(({ long, short }) => long === name || short === name);
  }

  #has(flag: string): boolean {
    return this.#options.some(({ long }) => long === flag);
  }

  /** Replaces flags that the command does not have, and words that it does not take. */
  #correctWords(typed: readonly string[]): string[] {
    const corrected: string[] = [];
    const operands: string[] = [];
    const words = [...typed];
    while (words.length > 0) {
      const word = words.shift() as string;
      if (!word.startsWith('-') || word === '-') {
        operands.push(word);
        corrected.push(word);
        continue;
      }
      const [name = '', inline] = word.split(/=(.*)/s);
      const following = words[0]?.startsWith('-') ? undefined : words[0];
      const option = this.#optionNamed(word);
      if (!option) {
        this.#problems.push(`unknown option '${name}'`);
        const { meant, isValueUsed } = this.#flagMeant(name, inline ?? following);
        corrected.push(...meant);
        if (isValueUsed && inline === undefined && following !== undefined) words.shift();
      } else if (inline !== undefined && !takesValue(option)) {
        this.#problems.push(`${name} takes no value`);
        if (!/^(false|no|off|0)$/i.test(inline)) corrected.push(name);
      } else {
        corrected.push(word);
        const isApart = takesValue(option) && (word === option.long || word === option.short);
        if (isApart && words.length > 0 && (option.required || following !== undefined))
          corrected.push(words.shift() as string);
      }
    }
    return this.#correctOperands(corrected, operands);
  }

  /** Returns the words for a flag that the command does not have. `value` is the word that may be its value. */
  #flagMeant(name: string, value: string | undefined): { meant: string[]; isValueUsed: boolean } {
    const [, secret] = SECRET_FLAGS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
    if (secret) throw new UsageError(`${name}: a secret is never an argument`, { next: secret });
    if (FOLLOW.has(name) && this.command.name() === 'watch') return { meant: [], isValueUsed: false };
    if (/^--colou?r$/.test(name)) {
      if (/^(never|false|no|off)$/.test(value ?? '')) return { meant: ['--no-color'], isValueUsed: true };
      throw this.#error(
        'colour is on for a terminal; FORCE_COLOR=1 in the environment forces it, --no-color turns it off',
      );
    }
    const [, ...meanings] = FLAG_SYNONYMS.find(([typed]) => typed.split(' ').includes(name)) ?? [];
    // In `webhooks replay --to URL` it is no time.
    if (name === '--to' && /^https?:/.test(value ?? '')) meanings.unshift('--forward-to');
    const names = this.#options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
    // A flag that means something elsewhere is not misspelt.
    const isMisspelt = meanings.length === 0 && name.startsWith('--');
    const meant = isMisspelt
      ? nearest(name, names)
      : meanings.find((one) => this.#has(one.replace(/ .*/, '')));
    const needsValue = meant !== undefined && this.#optionNamed(meant)?.required === true;
    // Without a value it would take the next flag for one.
    if (meant === undefined || (needsValue && value === undefined))
      throw this.#error(`\`${pathOf(this.command)} --help\` shows its flags`);
    if (!needsValue || value === undefined) return { meant: meant.split(' '), isValueUsed: false };
    return { meant: [meant, value], isValueUsed: true };
  }

  /** Words of a command that takes fewer become the flag that they are the value of. */
  #correctOperands(words: readonly string[], operands: readonly string[]): string[] {
    const { registeredArguments } = this.command;
    const corrected = [...words];
    if (registeredArguments.some(({ variadic }) => variadic) || this.command.commands.length > 0)
      return corrected;
    const last = registeredArguments.at(-1);
    for (const word of operands.slice(registeredArguments.length)) {
      const taken = last ? `only <${last.name()}>` : 'no words';
      this.#problems.push(`${wordsOf(this.command)} takes ${taken}, but was given '${word}'`);
      corrected.splice(corrected.lastIndexOf(word), 1, ...this.#flagForWord(word, words));
    }
    return corrected;
  }

  #flagForWord(word: string, words: readonly string[]): string[] {
    if (/^failed$/i.test(word) && this.#has('--failed')) return ['--failed'];
    if (/^success$/i.test(word) && this.#has('--status')) return ['--status', 'SUCCESS'];
    if (isGuid(word) && this.#has('--id')) return ['--id', word];
    const address = ['--forward-to', '--auth-url', '--base-url'].find((one) => this.#has(one));
    if (/^https?:/.test(word) && address) return [address, word];
    const isList = /^[\w.-]+(,[\w.-]+)*$/.test(word);
    if (isList && words.includes('--json') && this.#has('--fields')) return ['--fields', word];
    if (/^[\w-]+\.[\w.*-]+$/.test(word) && this.#has('--type')) return ['--type', word];
    throw this.#error(
      this.#has('--since')
        ? 'events are chosen by filters: see `hooktrail help filters`'
        : `\`${pathOf(this.command)} --help\` shows what it takes`,
    );
  }
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function orList(texts: readonly string[]): string {
  return `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}
