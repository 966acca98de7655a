import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addFilterFlags, addFromFlag, type FilterFlags, filtersOf } from '../filters/filter-flags.ts';
import { savedFields } from '../formats/format-flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { redraws } from '../terminal/palette.ts';

interface Flags extends FilterFlags, SettingFlags {}

const KEYS = [
  'up down j k         moves by an event, or by a line of an open event',
  'page up, page down  moves by a screen; also b and space',
  'home end < > G      moves to the first or last event read',
  'enter               opens the event; shows the events of a group',
  'esc                 goes back a step: event, group, condition, filter',
  'n p                 opens the next or previous event',
  '/                   filters the events read by words, as you type',
  'w                   filters by FIELD OP VALUE, or by a text',
  'g                   groups by a field that you choose from a list',
  'f                   shows failed events only, or all again',
  'r                   reads the events again',
  "y Y                 copies the event's id, or its whole JSON",
  'z                   switches times: UTC, local zone, --timezone',
  'o                   shows a report of these events in the browser',
  '?                   lists the keys',
  'q                   quits; Ctrl-Z suspends, and fg goes on',
];

export const commonFlags = '--failed --since --until --type --subscription --where --from --timezone';

export const help = `
It only shows events, and changes nothing. Keys:
${KEYS.map((line) => `  ${line}`).join('\n')}`;

export const examples = [
  'hooktrail events browse --failed --since 24h',
  'hooktrail events browse --type document.signed',
];

export function declare(command: Command): void {
  addFromFlag(addFilterFlags(command), 'an export or a file (NDJSON or a JSON array)');
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, context } = call;
  if (flags.from === '-')
    throw new UsageError('--from - cannot be browsed: the keys are read from standard input', {
      next: 'write the events to a file, and give its name to --from',
    });
  const filters = filtersOf(call);
  const fields = savedFields(call.settings);
  if (!context.stdin.isTerminal || !context.stdout.isTerminal || !redraws(context.environment)) {
    throw new UsageError('events browse needs a terminal to show its list on and to read keys from', {
      next: advise`use ${hooktrail('events search')} with the same filters`,
    });
  }
  const { browseEvents } = await import('./browse.ts');
  await browseEvents(call, { filters, from: flags.from, fields, help: KEYS });
}
