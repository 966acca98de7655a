import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { sampleSize } from '../support/seed.ts';

const home = forEachTest(createHome);
let log: string;
beforeEach(async () => {
  log = path.join(home.folder, 'log');
  await writeFile(log, '');
});

function worker(rounds: number, hold: number): ChildProcess {
  const script = path.resolve(import.meta.dirname, 'lock-worker.ts');
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', script, home.folder, log, String(rounds), String(hold)],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const lines = async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean);
const entered = async (child: ChildProcess) =>
  expect.poll(lines, { timeout: 60_000, interval: 20 }).toContain(`enter ${child.pid}`);

test('there are never two holders, although holders are killed all the time', {
  timeout: 120_000,
}, async () => {
  const roundsOfWorker = sampleSize(5, 25);
  const workers = Array.from({ length: 4 }, () => worker(roundsOfWorker, 5));
  const all = Promise.all(workers.map((child) => once(child, 'exit')));
  let running = true;
  void all.then(() => {
    running = false;
  });
  const victims = new Set<number>();
  while (running && victims.size < sampleSize(2, 6)) {
    const victim = worker(1000, 1);
    await Promise.race([entered(victim), all]);
    victim.kill('SIGKILL');
    victims.add(victim.pid as number);
  }
  await all;
  let inside: string | undefined;
  let rounds = 0;
  for (const line of await lines()) {
    const [what, pid = ''] = line.split(' ');
    if (what === 'enter') {
      // A process that was killed while it held the lock never left it.
      expect(inside === undefined || victims.has(Number(inside)), `${line} while ${inside} was inside`).toBe(
        true,
      );
      inside = pid;
    } else {
      expect(pid).toBe(inside);
      inside = undefined;
      if (!victims.has(Number(pid))) rounds++;
    }
  }
  expect(rounds).toBe(4 * roundsOfWorker);
  const locks = path.join(home.folder, '.hooktrail', 'locks');
  const [folder] = await readdir(locks);
  expect((await readdir(path.join(locks, folder as string))).length).toBeLessThan(40);
});

test('a process without free file descriptors considers nobody dead', async () => {
  const script = path.resolve(import.meta.dirname, 'lock-blind-worker.ts');
  const command = `ulimit -n 256; exec "$0" --import tsx "$1"`;
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script]);
  expect(stdout).toBe('unknown');
});
