import path from 'node:path';
import type { Call } from '../command.ts';
import type { Context, Output } from '../context.ts';
import { ExitCode } from '../errors.ts';
import type { FilterFlags } from '../events/event-flags.ts';
import { temporaryFolder } from '../files/folders.ts';
import { flagWords } from '../settings/command-words.ts';
import type { SettingFlags } from '../settings/settings.ts';

const FLAGS = [
  ...['after', 'since', 'before', 'until', 'subscription', 'id', 'type', 'where', 'grep', 'from'],
  ...['timezone', 'profile', 'authUrl', 'baseUrl', 'clientId', 'vendor'],
];

export interface OpenedReport {
  /** The outcome in one line. */
  readonly message: string;
  readonly remove: () => Promise<void>;
}

/** Runs `events report --open` for the same events, with the file in a new temporary folder. */
export async function openReport({
  flags,
  context,
  invoke,
}: Call<FilterFlags & SettingFlags>): Promise<OpenedReport> {
  const folder = await temporaryFolder('hooktrail-report-');
  const file = path.join(folder.path, 'report.html');
  const said: string[] = [];
  const code = await invoke(
    ['events', 'report', file, '--open', '--quiet', ...flagWords(flags, FLAGS)],
    offScreen(context, said),
  );
  const problem = said.join('').split('\n')[0] || `the report ended with ${code}`;
  const message = code === ExitCode.done ? `the report is ${file} until you leave` : problem;
  return { message, remove: folder.remove };
}

/** Returns the same context without the terminal, on which the list is. */
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
