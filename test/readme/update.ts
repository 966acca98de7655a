import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { withFreshOutput, withoutVolatile } from './examples.ts';
import { drawTerminal, fingerprint, folder, photograph, terminals, writeReport } from './pictures.ts';
import { openStage } from './stage.ts';
import { liveStory, withoutCounts } from './story.ts';

/** `npm run readme` updates the output of the commands in the README, and its pictures. */
const root = path.resolve(import.meta.dirname, '../..');
const program = path.join(root, 'bin/hooktrail.js');
await using stage = await openStage(program);

const readme = path.join(root, 'README.md');
const before = await readFile(readme, 'utf8');
const fresh = await withFreshOutput(before, stage);
if (withoutVolatile(fresh) !== withoutVolatile(before)) await writeFile(readme, fresh);

const known = await readFile(readme, 'utf8');
const lived = await liveStory(known, program);
if (withoutCounts(lived.readme) !== withoutCounts(known)) await writeFile(readme, lived.readme);

await mkdir(folder, { recursive: true });
for (const [name, command] of Object.entries(terminals))
  await writeFile(path.join(folder, name), await drawTerminal(stage, command));

// The screenshot is retaken only if the page has changed, since it differs between machines.
const page = await writeReport(stage);
const print = path.join(folder, 'report.sha256');
if (fingerprint(page) !== (await readFile(print, 'utf8').catch(() => ''))) {
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-readme-'));
  const file = path.join(temporary, 'failures.html');
  await writeFile(file, page);
  await writeFile(path.join(folder, 'report.png'), await photograph(file));
  await writeFile(print, fingerprint(page));
  await rm(temporary, { recursive: true });
}
