import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

test.each(['events search', 'config set', 'webhooks listen', 'profiles use'])(
  'the help of %s is the same however it is asked for',
  async (command) => {
    await using home = await createHome();
    const [group, name] = command.split(' ') as [string, string];
    const help = (...args: string[]) => hooktrail(args, { env: home.env });
    const own = await help(group, name, '--help');
    expect(own.stdout).toMatch(/^Examples?:$/m);
    expect(await help(group, 'help', name)).toEqual(own);
    expect(await help('help', group, name)).toEqual(own);
  },
);

test('without a command the program shows its help', async () => {
  await using home = await createHome();
  const bare = await hooktrail([], { env: home.env });
  expect(bare).toEqual(await hooktrail(['--help'], { env: home.env }));
  expect(bare).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^Usage: hooktrail /) });
});

test('the version is printed in every usual way', async () => {
  await using home = await createHome();
  const told = await hooktrail(['--version'], { env: home.env });
  expect(told).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
  for (const flag of ['-V', '-v']) expect(await hooktrail([flag], { env: home.env })).toEqual(told);
  expect(await hooktrail(['version'], { env: home.env })).toEqual(told);
});
