import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inject } from 'vitest';

/** A folder with a `hooktrail` command that runs this run's build, to put first on a `PATH`. */
export async function commandFolder(parent: string): Promise<string> {
  const folder = path.join(parent, 'bin');
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'hooktrail');
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${inject('program')}' "$@"\n`);
  await chmod(file, 0o755);
  return folder;
}
