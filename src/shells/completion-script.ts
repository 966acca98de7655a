import { readFile } from 'node:fs/promises';
import type { Shell } from './shells.ts';

const files: Readonly<Record<Shell, string>> = {
  bash: 'hooktrail.bash',
  zsh: 'hooktrail.zsh',
  fish: 'hooktrail.fish',
  powershell: 'hooktrail.ps1',
};

/** The completion script of a shell. The package keeps them in a folder beside both `src/` and the built program. */
export async function completionScript(shell: Shell): Promise<string> {
  return await readFile(new URL(`../../completions/${files[shell]}`, import.meta.url), 'utf8');
}
