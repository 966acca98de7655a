import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

test.each([
  ['profiles', 'lst', 'list'],
  ['profiles', 'delet', 'delete'],
  ['config', 'ste', 'set'],
  ['config', 'pth', 'path'],
])('%s %s suggests %s', async (group, word, meant) => {
  await using home = await createHome();
  expect(await hooktrail([group, word], { env: home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: unknown command '${word}'\nnext: did you mean ${meant}?\n`,
  });
});

test.each([
  ['help', 'evnts', "there is no command or topic 'evnts'", 'events'],
  ['help', 'events serach', "there is no command 'events serach'", 'search'],
  ['help', 'config ste', "there is no command 'config ste'", 'set'],
])('%s %s is an error: there is no such command', async (help, words, message, meant) => {
  await using home = await createHome();
  expect(await hooktrail([help, ...words.split(' ')], { env: home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: ${message}\nnext: did you mean ${meant}?\n`,
  });
});

test('an extra word after a command is reported as such', async () => {
  await using home = await createHome();
  const { code, stderr } = await hooktrail(['profiles', 'list', 'delet'], { env: home.env });
  expect(stderr).toMatch(/^error: too many arguments for 'list'/);
  expect(code).toBe(2);
});

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

test.each([
  [['search'], 'search', '`hooktrail events search`'],
  [['search', '--failed'], 'search', '`hooktrail events search`'],
  [['events', 'list'], 'list', '`hooktrail events search`'],
  [['events', 'login'], 'login', '`hooktrail login`'],
  [['listen'], 'listen', '`hooktrail webhooks listen`'],
  [['evnts'], 'evnts', 'events'],
])('%j says what to type', async (words, unknown, meant) => {
  await using home = await createHome();
  expect(await hooktrail(words, { env: home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: unknown command '${unknown}'\nnext: did you mean ${meant}?\n`,
  });
});

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
  expect(await hooktrail(['-V'], { env: home.env })).toEqual(told);
  expect(await hooktrail(['version'], { env: home.env })).toEqual(told);
});
