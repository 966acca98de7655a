import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

const refused = ['events', 'count', '--since', 'someday'];

test.each(['AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT', 'GEMINI_CLI', 'CODEX_SANDBOX', 'CODEX_THREAD_ID'])(
  '%s makes errors JSON, even on a terminal',
  async (name) => {
    await using home = await createHome();
    const env = { ...home.env, [name]: '1' };
    const { code, stderr } = await hooktrail(refused, { env, terminal: 80 });
    expect([code, JSON.parse(stderr).kind]).toEqual([2, 'usage']);
  },
);

test.each([
  ['a flag', ['--error-format', 'text'], {}],
  ['the variable', [], { HOOKTRAIL_ERROR_FORMAT: 'text' }],
  ['that it is off', [], { AI_AGENT: '0' }],
])('%s wins over the mode', async (_, flags, more) => {
  await using home = await createHome();
  const env = { ...home.env, AI_AGENT: 'test', ...more };
  expect((await hooktrail([...refused, ...flags], { env })).stderr).toMatch(/^error: --since: /);
});

test('the saved settings win over it too, and doctor says that it is on', async () => {
  await using home = await createHome();
  const env = { ...home.env, AI_AGENT: 'test' };
  const { stdout } = await hooktrail(['doctor'], { env });
  expect(stdout).toContain('AI_AGENT is set, so no pager, colour or progress, and errors are JSON\n');
  expect((await hooktrail(['config', 'set', 'error-format', 'text'], { env })).code).toBe(0);
  expect((await hooktrail(refused, { env })).stderr).toMatch(/^error: --since: /);
});

test('nothing is in colour on a terminal', async () => {
  await using home = await createHome();
  const inColour = async (more: Record<string, string>) =>
    (await hooktrail(['doctor'], { env: { ...home.env, ...more }, terminal: 80 })).stdout.includes('\u001b[');
  expect(await inColour({})).toBe(true);
  expect(await inColour({ AI_AGENT: 'test' })).toBe(false);
  expect(await inColour({ AI_AGENT: 'test', FORCE_COLOR: '1' })).toBe(true);
});
