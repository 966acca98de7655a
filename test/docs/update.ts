import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { withFreshOutput, withoutVolatile } from './examples.ts';
import { readPages, root } from './pages.ts';
import { drawTerminal, fingerprint, folder, photograph, terminals, writeReport } from './pictures.ts';
import { openStage } from './stage.ts';
import { liveStories, withoutCounts } from './story.ts';

/** `npm run docs` updates the output of the commands on every page, and the pictures. */
const program = path.join(root, 'bin/hooktrail.js');
for (const { file, text } of await readPages()) {
  let fresh = text;
  if (/^```console$/m.test(text)) {
    await using stage = await openStage(program, { hasHandler: text.includes('handled.db') });
    const printed = await withFreshOutput(text, stage);
    if (withoutVolatile(printed) !== withoutVolatile(text)) fresh = printed;
  }
  if (/^```console story$/m.test(text)) {
    const { page } = await liveStories(fresh, program);
    if (withoutCounts(page) !== withoutCounts(fresh)) fresh = page;
  }
  if (fresh !== text) await writeFile(path.join(root, file), fresh);
}

await using stage = await openStage(program);
await mkdir(folder, { recursive: true });
for (const [name, commands] of Object.entries(terminals))
  await writeFile(path.join(folder, name), await drawTerminal(stage, commands));

// The screenshot is retaken only if the page has changed, since it differs between machines.
const page = await writeReport(stage);
const print = path.join(folder, 'report.sha256');
if (fingerprint(page) !== (await readFile(print, 'utf8').catch(() => ''))) {
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-docs-'));
  const file = path.join(temporary, 'failures.html');
  await writeFile(file, page);
  await writeFile(path.join(folder, 'report.png'), await photograph(file));
  await writeFile(print, fingerprint(page));
  await rm(temporary, { recursive: true });
}
