import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
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
