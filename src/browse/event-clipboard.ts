import type { Context } from '../context.ts';
import { memberPath } from '../items/field-path.ts';
import { createRowReader } from '../items/item-columns.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { grouped } from '../terminal/terminal-text.ts';

export async function copyEventId(item: Items, context: CopyContext): Promise<string> {
  const id = createRowReader([memberPath('eventId')], valueText, '')(item)[0]?.[0];
  if (!id) return 'the event has no eventId to copy';
  return await copyText(id, id, context);
}

/** Bytes that some terminals accept at most (100,000 in base64), silently dropping the rest. */
const MAX_COPIED_BYTES = 74_994;

/** Copies the item's own JSON. Resolves to a one-line outcome. */
export async function copyEvent(item: Items, context: CopyContext): Promise<string> {
  const json = item.text(0).toString();
  const size = `${grouped(item.text(0).length)} bytes`;
  if (item.text(0).length > MAX_COPIED_BYTES)
    return `the event has ${size}, which is too much for a clipboard: \`events get\` prints it`;
  return await copyText(json, `the event (${size})`, context);
}

type CopyContext = Pick<Context, 'environment' | 'runProgram' | 'stdout'>;

async function copyText(text: string, what: string, context: CopyContext): Promise<string> {
  const { environment, runProgram, stdout } = context;
  const { PATH, HOME, TMUX } = environment;
  if (TMUX) {
    // tmux does not forward the sequence below by default; -w makes it send its buffer to the outer terminal.
    const set = runProgram(['tmux', 'set-buffer', '-w', '--', text], { PATH, HOME, TMUX });
    const code = await set.catch(() => 1);
    return code === 0 ? `copied ${what} to tmux's buffer` : `tmux did not accept ${what}`;
  }
  // OSC 52 of xterm's control sequences works through SSH. Terminals do not confirm it, and some ignore it.
  stdout.stream().write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
  return `sent ${what} to the terminal's clipboard`;
}
