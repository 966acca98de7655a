import path from 'node:path';
import type { Call } from '../command.ts';
import type { Context, Output } from '../context.ts';
import { ExitCode } from '../errors.ts';
import type { FilterFlags } from '../events/event-flags.ts';
import { temporaryFolder } from '../files/folders.ts';
import { flagWords } from '../settings/command-words.ts';
import type { SettingFlags } from '../settings/settings.ts';

const FLAGS = [
  ...['after', 'since', 'before', 'until', 'subscription', 'id', 'type'],
  ...['profile', 'authUrl', 'baseUrl', 'clientId', 'vendor'],
];

/** Makes and shows the report of the same events, by the command of that name; tells in a line what came of it. */
export async function openReport({
  flags,
  context,
  invoke,
}: Call<FilterFlags & SettingFlags>): Promise<string> {
  // It stays: the browser reads it when it likes, and people send it on.
  const folder = await temporaryFolder('hooktrail-report-');
  const file = path.join(folder.path, 'report.html');
  const said: string[] = [];
  const code = await invoke(
    ['events', 'report', file, '--open', '--quiet', ...flagWords(flags, FLAGS)],
    offScreen(context, said),
  );
  if (code === ExitCode.done) return `the report is ${file}`;
  return said.join('').split('\n')[0] || `the report ended with ${code}`;
}

/** The same world without the terminal, which shows the list. */
function offScreen(context: Context, said: string[]): Context {
  const output: Output = {
    ...context.stderr,
    isTerminal: false,
    columns: 80,
    colorDepth: 1,
    write: async (chunk) => void said.push(chunk.toString()),
  };
  return { ...context, stdout: output, stderr: output };
}
