import { expect, test } from 'vitest';
import type { Explained } from '../../src/explain/explain.ts';
import { explanationFacts } from '../../src/explain/explanation-text.ts';

// A file of its own: nothing here has loaded the library that measures text, as in `--json` and in a report.
test.each([
  ['Überschritten\n  at send', 'Überschritten\\u000a  at send'],
  ['😀 e\u0301', '😀 e\u0301'],
  ['x'.repeat(61), `${'x'.repeat(59)}…`],
])('says that only failures have %j', (value, shown) => {
  const effect = { field: 'error', text: 'error', op: 'exists', failed: 1, delivered: 0 };
  const onlyInFailures = [{ ...effect, values: [{ value, failed: 1 }] }];
  const explained = { events: 2, failed: 1, causes: [], unexplained: 1, onlyInFailures, notCompared: [] };
  expect(explanationFacts(explained as unknown as Explained)).toContain(
    `only failures have: error (${shown} 1)`,
  );
});
