import { type Call, type TypedWords, typedWords } from '../command.ts';
import { serviceText } from '../settings/settings.ts';
import { shellWord } from '../shell-words.ts';
import type { Instant } from '../time/instant.ts';

/** The line below a table in Markdown, for whoever reads it without the terminal. */
export interface TableNote {
  /** Count, place, window and filters, in words. */
  readonly facts: readonly string[];
  /** What gives the same table at any time, for whoever has the same profile. */
  readonly command: string;
}

/** The time that a table is about, as far as it is known. */
export interface NoteWindow {
  readonly after?: Instant | undefined;
  readonly before?: Instant | undefined;
}

interface NoteParts {
  /** The first is what the table holds. */
  readonly facts: readonly string[];
  /** A place with stored events, where they are not those of the service. */
  readonly from?: string | undefined;
  readonly window?: NoteWindow;
}

type NoteCall = Pick<Call, 'settings' | 'commands'>;

/** Throws `UsageError` for settings that are wrong. */
export function tableNote(
  { settings: given, commands }: NoteCall,
  { facts: [first = '', ...others], from, window = {} }: NoteParts,
): TableNote {
  const words = withFullTimes(typedWords(commands.root), window);
  if (from !== undefined) {
    const place = `from ${from === '-' ? 'standard input' : from}`;
    return { facts: [first, place, ...others], command: commandText(words) };
  }
  const settings = given.checked();
  const { profile, profileExists } = settings;
  const place = serviceText(settings);
  const isNamed = words.own.some((word) => /^--profile(=|$)/.test(word));
  const more = profileExists && !isNamed ? ['--profile', profile] : [];
  const command = commandText({ ...words, own: [...words.own, ...more] });
  return { facts: place === '' ? [first, ...others] : [first, place, ...others], command };
}

/** The line with `--since` and `--until` of the window: tomorrow `--since 8am` is another time. */
function withFullTimes({ own, behind }: TypedWords, { after, before }: NoteWindow): TypedWords {
  const since = withTime(withoutPeriod(own), ['--since', '--after'], after);
  return { own: withTime(since, ['--until', '--before'], before), behind };
}

const PERIOD = /^--(?:day|month)(?:=|$)/;

/** The words without `--day` or `--month`, whose bounds take their place. */
function withoutPeriod(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => PERIOD.test(word));
  if (at === -1) return words;
  return words.toSpliced(at, words[at]?.includes('=') ? 1 : 2);
}

/** The words with a time in place of the one that was typed, or at their end. */
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
