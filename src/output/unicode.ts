import type { Context } from '../context.ts';

/** Whether text may be drawn with characters beyond ASCII: not on a dumb terminal, nor where the locale says otherwise. */
export function takesUnicode({ environment, machine }: Pick<Context, 'environment' | 'machine'>): boolean {
  if (environment['TERM'] === 'dumb') return false;
  if (machine.platform === 'win32') return true;
  // POSIX: the first that is set decides. Containers set none, and their terminals take UTF-8 all the same.
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'];
  return !locale || /utf-?8/i.test(locale);
}
