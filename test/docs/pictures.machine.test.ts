import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { hasTerminal } from '../support/machine/terminal.ts';
import { drawTerminal, fingerprint, folder, terminals, writeReport } from './pictures.ts';
import { openStage } from './stage.ts';

// `npm run docs` updates everything that is compared here.
test.skipIf(!hasTerminal)('the pictures show what a terminal shows', { timeout: 180_000 }, async () => {
  await using stage = await openStage(inject('program'));
  for (const [name, commands] of Object.entries(terminals))
    expect(await drawTerminal(stage, commands)).toBe(await readFile(path.join(folder, name), 'utf8'));
});

test('the screenshot of the report shows the current page', async () => {
  await using stage = await openStage(inject('program'));
  const taken = await readFile(path.join(folder, 'report.sha256'), 'utf8');
  expect(fingerprint(await writeReport(stage))).toBe(taken);
  const photograph = await readFile(path.join(folder, 'report.png'));
  expect(photograph.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n');
  expect(photograph.length).toBeLessThan(150_000);
});
