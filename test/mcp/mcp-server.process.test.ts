import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { binFolder, createHome } from '../support/home.ts';
import { startProcess } from '../support/process.ts';

test.each([
  ['when it answers', '{"jsonrpc":"2.0","id":2,"method":"ping"}\n'],
  ['when it is idle', ''],
])('mcp ends when its output is closed, although its input stays open: %s', async (_, message) => {
  await using home = await createHome();
  const program = startProcess(['mcp'], { env: home.env, stdin: null });
  program.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await program.printed('stdout', /"id":1/);
  program.closeStdout();
  program.stdin.write(message);
  expect(await program.finished).toMatchObject({ code: 0, stderr: '' });
});

test('the configuration on the page about agents starts a server, also one that needs no account', async () => {
  const page = await readFile(path.join(import.meta.dirname, '../../docs/agents.md'), 'utf8');
  const [, text = ''] = /```json\n(\{\n {2}"mcpServers"[\s\S]*?)```/.exec(page) ?? [];
  const { mcpServers } = JSON.parse(text) as {
    mcpServers: Record<string, { command: string; args: string[] }>;
  };
  expect(Object.values(mcpServers).map(({ command }) => command)).toEqual(['hooktrail', 'hooktrail']);
  const messages = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'sign_in_status', arguments: {} } },
  ].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  for (const [name, { args }] of Object.entries(mcpServers)) {
    await using home = await createHome();
    const bin = await binFolder(home.folder, inject('program'));
    const env = { ...home.env, PATH: `${bin}:${home.env['PATH']}` };
    const program = startProcess(args, { env, stdin: null });
    for (const message of messages) program.stdin.write(message);
    const [, isSignedIn] = await program.printed('stdout', /"signedIn\\?":(true|false)/);
    expect([name, isSignedIn]).toEqual([name, String(name === 'hooktrail-sandbox')]);
    program.stdin.end();
    expect((await program.finished).code).toBe(0);
  }
});
