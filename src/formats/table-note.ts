import { type Call, type TypedWords, typedWords } from '../command.ts';
import { serviceText } from '../settings/settings.ts';
import { isOfThisProcess, shellWord } from '../shell-words.ts';
import type { Instant } from '../time/instant.ts';

/** The line below a Markdown table, for readers without the terminal. */
export interface TableNote {
  readonly facts: readonly string[];
  /** Prints the same table at any time, with the same profile. */
  readonly command: string;
}

export interface NoteWindow {
  readonly after?: Instant | undefined;
  readonly before?: Instant | undefined;
}

export interface NoteParts {
  readonly facts: readonly string[];
  readonly from?: string | undefined;
  readonly window?: NoteWindow;
}

type NoteCall = Pick<Call, 'settings' | 'commands'>;

/** Throws `UsageError` for wrong settings. */
export function tableNote(
  { settings: given, commands }: NoteCall,
  { facts: [first = '', ...others], from, window = {} }: NoteParts,
): TableNote {
  const words = withFullTimes(typedWords(commands.root), window);
  if (from !== undefined) {
    const isPiped = isOfThisProcess(from);
    const place = `from ${isPiped ? 'standard input' : from}`;
    const command = isPiped ? `… | ${commandText(withPlace(words, from, '-'))}` : commandText(words);
    return { facts: [first, place, ...others], command };
  }
  const settings = given.checked();
  const { profile, profileExists } = settings;
  const place = serviceText(settings);
  const isNamed = words.own.some((word) => /^--profile(=|$)/.test(word));
  const more = profileExists && !isNamed ? ['--profile', profile] : [];
  const command = commandText({ ...words, own: [...words.own, ...more] });
  return { facts: place === '' ? [first, ...others] : [first, place, ...others], command };
}

function withPlace({ own, behind }: TypedWords, from: string, place: string): TypedWords {
  const replaced = new Map([
    [from, place],
    [`--from=${from}`, `--from=${place}`],
  ]);
  return { own: own.map((word) => replaced.get(word) ?? word), behind };
}

/** Replaces relative times: `--since 8am` means another time tomorrow. */
function withFullTimes({ own, behind }: TypedWords, { after, before }: NoteWindow): TypedWords {
  const since = withTime(withoutPeriod(own), ['--since', '--after'], after);
  return { own: withTime(since, ['--until', '--before'], before), behind };
}

const PERIOD = /^--(?:day|month)(?:=|$)/;

/** The window's bounds replace these. */
function withoutPeriod(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => PERIOD.test(word));
  if (at === -1) return words;
  return words.toSpliced(at, words[at]?.includes('=') ? 1 : 2);
}

function withTime(
  words: readonly string[],
  flags: readonly string[],
  time: Instant | undefined,
): readonly string[] {
  if (!time) return words;
  let isTyped = false;
  const replaced = words.map((word, index) => {
    const [flag = '', inline] = word.split(/=(.*)/s);
    const isInline = inline !== undefined && flags.includes(flag);
    const isValue = index > 0 && flags.includes(words[index - 1] as string);
    if (!isInline && !isValue) return word;
    isTyped = true;
    return isInline ? `${flag}=${time.text}` : time.text;
  });
  return isTyped ? replaced : [...words, flags[0] as string, time.text];
}

function commandText({ own, behind }: TypedWords): string {
  return ['hooktrail', ...own, ...behind].map(shellWord).join(' ');
}
