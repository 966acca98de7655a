import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A folder of programs for `PATH`, in which `hooktrail` is the built one. */
export async function binFolder(folder: string, program: string): Promise<string> {
  const bin = path.join(folder, 'bin');
  await mkdir(bin, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  await writeFile(path.join(bin, 'hooktrail'), script, { mode: 0o755 });
  return bin;
}
