import { describe, expect, inject, test } from 'vitest';
import { available } from '../support/machine/requirement.ts';
import { withFreshOutput, withoutVolatile } from './examples.ts';
import { readPages } from './pages.ts';
import { openStage } from './stage.ts';

// `npm run docs` updates everything that is compared here.
const pages = (await readPages())
  .filter(({ text }) => /^```console$/m.test(text))
  .map((page) => ({ ...page, hasHandler: page.text.includes('handled.db') }))
  .filter(({ hasHandler }) => !hasHandler || available('sqlite3'));

describe.each(pages)('$file', ({ text, hasHandler }) => {
  test('every output is what its command prints', { timeout: 180_000 }, async () => {
    await using stage = await openStage(inject('program'), { hasHandler });
    expect(withoutVolatile(await withFreshOutput(text, stage))).toBe(withoutVolatile(text));
  });
});
