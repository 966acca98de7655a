import type { Call } from '../command.ts';
import { loadSettings, type SettingFlags, type Settings } from '../settings/settings.ts';
import type { Palette } from '../terminal/palette.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import { type Finding, failed, ok } from './finding.ts';
import { machineChecks } from './machine-checks.ts';
import { networkChecks } from './network-checks.ts';

/**
 * Checks everything that a sign-in and a request need, the machine first and the service last. A failed check does not
 * end the diagnosis.
 */
export async function diagnose(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
): Promise<Finding[]> {
  const { flags, context } = call;
  const settings = await loadSettings(flags, context).catch((error: Error) => error);
  const usable = settings instanceof Error ? undefined : settings;
  const machine = await Promise.all(machineChecks(usable, context));
  context.signal.throwIfAborted();
  const network = usable ? await networkChecks(call, usable) : [];
  return [
    ...machine,
    settings instanceof Error ? failed('settings', settings) : sources(settings),
    ...network,
  ];
}

/** Names the sources of the settings: a forgotten variable is a common cause of trouble. */
function sources({ profile, profileExists, given }: Settings): Finding {
  const others = Object.values(given)
    .map(({ source }) => source)
    .filter((source) => /^(--|HOOKTRAIL_)/.test(source));
  const saved = profileExists ? `profile '${profile}'` : `profile '${profile}', which saves nothing`;
  return ok('settings', others.length > 0 ? `${saved}; overridden by ${others.join(', ')}` : saved);
}

/** One line per finding, and one for its next step. */
export function diagnosisText(findings: readonly Finding[], palette: Palette): string {
  const colours = { ok: palette.good, doubtful: palette.caution, broken: palette.bad };
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, state, message, next }) => {
      const line = `${colours[state](state.padEnd(8))}  ${check.padEnd(width)}  ${terminalSafeLine(message)}\n`;
      return next ? `${line}${' '.repeat(width + 12)}next: ${terminalSafeLine(next)}\n` : line;
    })
    .join('');
}
