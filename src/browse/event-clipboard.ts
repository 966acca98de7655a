import type { Context } from '../context.ts';
import { createCursor, MISSING, memberPath } from '../json/item-fields.ts';
import type { Items } from '../json/items.ts';
import { valueText } from '../json/json-scanner.ts';

/** Copies the item's `eventId`. Resolves to the outcome in one line. */
export async function copyEventId(
  item: Items | undefined,
  context: Pick<Context, 'environment' | 'runProgram' | 'stdout'>,
): Promise<string> {
  const id = item && eventIdOf(item);
  if (!id) return 'the event has no eventId to copy';
  const { environment, runProgram, stdout } = context;
  if (environment['TMUX']) {
    // tmux does not pass the sequence below on by default; -w makes it send its buffer to the terminal around it.
    const { PATH, HOME, TMUX } = environment;
    const code = await runProgram(['tmux', 'set-buffer', '-w', '--', id], { PATH, HOME, TMUX }).catch(
      () => 1,
    );
    return code === 0 ? `copied ${id} to tmux's buffer` : `tmux did not take ${id}`;
  }
  if (environment['STY']) return `screen has no clipboard to copy ${id} to`;
  if (environment['TERM_PROGRAM'] === 'Apple_Terminal')
    return `Terminal on macOS has no clipboard to copy ${id} to`;
  stdout.stream().write(clipboardSequence(id));
  return `sent ${id} to the terminal's clipboard`;
}

function eventIdOf(item: Items): string | undefined {
  const cursor = createCursor([memberPath('eventId')]);
  cursor.read(item.bytes, item.start(0));
  const start = cursor.starts[0] as number;
  return start === MISSING ? undefined : valueText(item.bytes, start, cursor.ends[0] as number) || undefined;
}

/**
 * The escape sequence that asks a terminal to put text on the clipboard of its machine (OSC 52 of xterm's control
 * sequences). It needs no other program and works through SSH, but terminals do not confirm it.
 */
function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
