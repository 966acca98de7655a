import { agentVariable } from '../agent-mode.ts';
import type { Context, Environment, Output } from '../context.ts';

export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  caution(text: string): string;
  accent(text: string): string;
  mark(text: string): string;
}

const same = (text: string) => text;
export const plain: Palette = {
  bold: same,
  dim: same,
  good: same,
  bad: same,
  caution: same,
  accent: same,
  mark: same,
};

export type ColorLevel = 0 | 1 | 2 | 3;

/**
 * Decides a stream's colour: by `--no-color`, then `FORCE_COLOR` (0–3), then `NO_COLOR` (any non-empty value,
 * see no-color.org), then by the terminal's abilities.
 */
export function colorLevel(stream: Output, environment: Environment, flag: boolean | undefined): ColorLevel {
  if (flag === false) return 0;
  const force = environment['FORCE_COLOR'];
  if (force === 'false') return 0;
  if (force !== undefined && force !== '') return /^[0-3]$/.test(force) ? (Number(force) as ColorLevel) : 1;
  if (environment['NO_COLOR'] || !stream.isTerminal || environment['TERM'] === 'dumb') return 0;
  if (agentVariable(environment)) return 0;
  if (stream.colorDepth >= 24) return 3;
  if (stream.colorDepth >= 8) return 2;
  return stream.colorDepth >= 4 ? 1 : 0;
}

/** The colour library is loaded only if there is colour. */
export async function paletteOf(level: ColorLevel): Promise<Palette> {
  if (level === 0) return plain;
  const { Chalk } = await import('chalk');
  const { bold, dim, green, red, magenta, cyan, inverse } = new Chalk({ level });
  // chalk joins all its arguments, such as the index passed by `map`.
  const one = (paint: (text: string) => string) => (text: string) => paint(text);
  return {
    bold: one(bold),
    dim: one(dim),
    good: one(green),
    bad: one(red),
    // Yellow is unreadable on a white background.
    caution: one(magenta),
    accent: one(cyan),
    mark: one(inverse),
  };
}

const BAD = /^(fail|error|reject|dead|undeliver|expired)/i;
const GOOD = /^(success|succeed|ok$|deliver|sent$|complete|published$|done$|active$)/i;
const WAITING = /^(pending|retry|queued|progress|in[ _-]?progress|waiting|unknown)/i;

/** Returns undefined for an unknown word. */
export function statusPaint(status: string, palette: Palette): ((text: string) => string) | undefined {
  if (BAD.test(status)) return palette.bad;
  if (GOOD.test(status)) return palette.good;
  return WAITING.test(status) ? palette.caution : undefined;
}

/**
 * True if printed lines may be redrawn: not on a dumb terminal, nor with `ACCESSIBLE`, which is set for
 * screen readers.
 */
export function redraws({ TERM, ACCESSIBLE }: Environment): boolean {
  return TERM !== 'dumb' && (!ACCESSIBLE || ACCESSIBLE === '0');
}

/**
 * True if output may have characters beyond ASCII: not on a dumb terminal, nor if the locale excludes them.
 */
export function takesUnicode({ environment, machine }: Pick<Context, 'environment' | 'machine'>): boolean {
  if (environment['TERM'] === 'dumb') return false;
  if (machine.platform === 'win32') return true;
  // POSIX: the first that is set decides. Containers set none, but their terminals support UTF-8.
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'];
  return !locale || /utf-?8/i.test(locale);
}
