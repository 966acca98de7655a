import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { withFreshOutput, withoutVolatile } from './examples.ts';

test('every output in the README is what its command prints', { timeout: 120_000 }, async () => {
  const readme = await readFile(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
  const fresh = await withFreshOutput(readme, inject('program'));
  // `npm run readme` writes the new outputs.
  expect(withoutVolatile(fresh)).toBe(withoutVolatile(readme));
});
