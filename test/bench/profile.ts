import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Command, measure } from './measure.ts';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** Microseconds. */
  readonly timeDeltas: readonly number[];
}

/** Returns the functions in which a Node command spends the most processor time itself, in milliseconds. */
export async function hottest(
  command: Command,
  most: number,
): Promise<[name: string, milliseconds: number][]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-profile-'));
  try {
    await measure({ ...command, args: ['--cpu-prof', `--cpu-prof-dir=${folder}`, ...command.args] });
    const [file] = await readdir(folder);
    const profile = JSON.parse(await readFile(path.join(folder, file as string), 'utf8')) as Profile;
    const names = new Map(
      profile.nodes.map(({ id, callFrame: { functionName, url } }) => [
        id,
        `${functionName || '(anonymous)'} ${path.basename(url).replace(/-[\w-]{8}\.c?js$/, '')}`.trim(),
      ]),
    );
    const times = new Map<string, number>();
    profile.samples.forEach((sample, index) => {
      const name = names.get(sample) ?? '';
      times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0) / 1000);
    });
    times.delete('(idle)');
    return [...times].sort(([, a], [, b]) => b - a).slice(0, most);
  } finally {
    await rm(folder, { recursive: true });
  }
}
