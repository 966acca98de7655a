import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { hasTerminal } from '../support/terminal.ts';
import { withFreshOutput, withoutVolatile } from './examples.ts';
import { drawTerminal, fingerprint, folder, terminals, writeReport } from './pictures.ts';
import { openStage, type Stage } from './stage.ts';

// `npm run readme` updates everything that is compared here.
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(inject('program'));
});
afterAll(() => stage[Symbol.asyncDispose]());

test('every output in the README is what its command prints', { timeout: 120_000 }, async () => {
  const readme = await readFile(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
  const fresh = await withFreshOutput(readme, stage);
  expect(withoutVolatile(fresh)).toBe(withoutVolatile(readme));
});

test.skipIf(!hasTerminal).each(Object.entries(terminals))(
  '%s shows what a terminal shows',
  async (name, command) => {
    const picture = await readFile(path.join(folder, name), 'utf8');
    expect(await drawTerminal(stage, command)).toBe(picture);
  },
);

test('the screenshot of the report shows the current page', async () => {
  const taken = await readFile(path.join(folder, 'report.sha256'), 'utf8');
  expect(fingerprint(await writeReport(stage))).toBe(taken);
  const photograph = await readFile(path.join(folder, 'report.png'));
  expect(photograph.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n');
  expect(photograph.length).toBeLessThan(150_000);
});
