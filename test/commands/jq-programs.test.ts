import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const WRONG = "error: --jq: '.[' is not a jq program\n";

test.each([
  ['events search', ['events', 'search']],
  ['events search --ndjson', ['events', 'search', '--ndjson']],
  ['events search --dry-run', ['events', 'search', '--dry-run']],
  ['events search --curl', ['events', 'search', '--curl']],
  ['events get', ['events', 'get', ID]],
  ['events count', ['events', 'count']],
  ['events count --dry-run', ['events', 'count', '--dry-run']],
  ['events stats', ['events', 'stats']],
  ['events watch', ['events', 'watch']],
  ['event-types', ['event-types']],
])('%s: a wrong --jq program is reported before any request is sent', async (_, command) => {
  await using searching = await startSearching({ events: 1 });
  const before = searching.sandbox.log.length;
  const { code, stdout, stderr } = await hooktrail([...command, '--jq', '.['], { env: searching.env });
  expect(stderr.slice(0, WRONG.length)).toBe(WRONG);
  expect(stdout).toBe('');
  expect(code).toBe(2);
  expect(searching.sandbox.log.length).toBe(before);
});

test('a wrong --jq program is reported whether or not anybody is signed in', async () => {
  await using home = await createHome();
  const { code, stderr } = await hooktrail(['events', 'search', '--jq', '.['], { env: home.env });
  expect(stderr.slice(0, WRONG.length)).toBe(WRONG);
  expect(code).toBe(2);
});
