import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Creates a folder to put first on a `PATH`, in which the command `hooktrail` runs `program`, a `bin/hooktrail.js`. */
export async function binFolder(parent: string, program: string): Promise<string> {
  const folder = path.join(parent, 'bin');
  await mkdir(folder, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  await writeFile(path.join(folder, 'hooktrail'), script, { mode: 0o755 });
  return folder;
}
