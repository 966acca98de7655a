import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { compare } from './measure.ts';
import { program, startSandboxProcess } from './sandbox-process.ts';
import { printTable } from './table.ts';

const OURS = 'hooktrail events search --failed --ndjson --from FILE';
const JQ = `jq -c 'select(.publishStatus=="FAILED")' FILE`;

/** Measures searches of a file of events, compared with jq. */
export async function benchOffline(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-bench-'));
  try {
    for (const events of [50_000, 1_000_000]) {
      const file = path.join(folder, `${events}.ndjson`);
      await writeEvents(events, file);
      const results = await compare(
        {
          [OURS]: {
            file: process.execPath,
            args: [program, 'events', 'search', '--failed', '--ndjson', '--from', file],
          },
          [JQ]: { file: 'jq', args: ['-c', 'select(.publishStatus=="FAILED")', file] },
        },
        5,
      );
      const ours = results[OURS] as (typeof results)[string];
      printTable(
        `${events} events of a file (medians of 5)`,
        ['command', 'seconds', 'times ours', 'CPU s', 'times ours', 'peak MiB', 'lines'],
        Object.entries(results).map(([command, { seconds, cpu = Number.NaN, peakMiB, lines }]) => [
          command,
          seconds.toFixed(2),
          (seconds / ours.seconds).toFixed(2),
          cpu.toFixed(2),
          (cpu / (ours.cpu ?? Number.NaN)).toFixed(2),
          peakMiB?.toFixed(0) ?? '-',
          String(lines),
        ]),
      );
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function writeEvents(events: number, file: string): Promise<void> {
  await using sandbox = await startSandboxProcess('--events', String(events));
  await using target = await open(file, 'w');
  const search = spawn(process.execPath, [program, 'events', 'search', '--ndjson'], {
    env: { ...process.env, ...sandbox.env },
    stdio: ['ignore', target.fd, 'inherit'],
  });
  const [code] = await once(search, 'exit');
  if (code !== 0) throw new Error(`the search for ${file} ended with ${code}`);
}
