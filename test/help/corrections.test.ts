import { describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

/** Runs each line as it is typed, and returns what its error says. */
async function errorOf(line: string) {
  await using home = await createHome();
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const { code, stdout, stderr } = await hooktrail(words, { env: home.env });
  expect([code, stdout]).toEqual([2, '']);
  return stderr;
}

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('the next step is the corrected line', () => {
  test.each([
    // Flags that mean the same elsewhere.
    ['events search --format json', "unknown option '--format'", 'events search --output json'],
    [`events search --event-id ${GUID}`, "unknown option '--event-id'", `events search --id ${GUID}`],
    ['events search --start 2026-11-01', "unknown option '--start'", 'events search --since 2026-11-01'],
    ['events search --start-time=2d', "unknown option '--start-time'", 'events search --since 2d'],
    ['events search --last 7d', "unknown option '--last'", 'events search --since 7d'],
    ['events search --last 5', "unknown option '--last'", 'events search --limit 5'],
    ['events search --to 2026-11-01', "unknown option '--to'", 'events search --until 2026-11-01'],
    ["events search --filter 'a = 1'", "unknown option '--filter'", "events search --where 'a = 1'"],
    ['event-types --filter document', "unknown option '--filter'", 'event-types --match document'],
    ['events search --tail 3', "unknown option '--tail'", 'events search --limit 3'],
    ['events search --max-items 5', "unknown option '--max-items'", 'events search --limit 5'],
    ['events search --event-type a.b', "unknown option '--event-type'", 'events search --type a.b'],
    ['events search --columns a,b', "unknown option '--columns'", 'events search --fields a,b'],
    ['events search --select a', "unknown option '--select'", 'events search --fields a'],
    ['events search --query length', "unknown option '--query'", 'events search --jq length'],
    ['events search --tz Asia/Tokyo', "unknown option '--tz'", 'events search --timezone Asia/Tokyo'],
    ['events search --utc', "unknown option '--utc'", 'events search --timezone UTC'],
    ['events search --success', "unknown option '--success'", 'events search --status SUCCESS'],
    ['webhooks replay --to http://h/', "unknown option '--to'", 'webhooks replay --forward-to http://h/'],
    // Following is called watch here.
    ['events search --failed -f', "unknown option '-f'", 'events watch --failed'],
    ['events search --watch --since 1h', "unknown option '--watch'", 'events watch --since 1h'],
    // Switches with values, and flags before the command.
    ['events search --failed=true -n 1', '--failed takes no value', 'events search --failed -n 1'],
    ['events search --failed=false --json', '--failed takes no value', 'events search --json'],
    ['events search --color=never', "unknown option '--color'", 'events search --no-color'],
    ['events search --color never', "unknown option '--color'", 'events search --no-color'],
    ['--json events search -n 1', '--json stands before the command', 'events search --json -n 1'],
    ['--since 1h events count', '--since stands before the command', 'events count --since 1h'],
    ['-q events search', "unknown option '-q'", 'events search --quiet'],
    // Misspelt.
    ['events search --faild', "unknown option '--faild'", 'events search --failed'],
    [
      'events search --status FAILD',
      "--status: invalid value 'FAILD': must be SUCCESS or FAILED",
      'events search --status FAILED',
    ],
    [
      'login --store=kechain',
      "--store: invalid value 'kechain': must be keychain or file",
      'login --store=keychain',
    ],
    ['help filtres', "there is no command or topic 'filtres'", 'help filters'],
    ['help events serach', "there is no command 'events serach'", 'help events search'],
    ['evnts search --failed', "unknown command 'evnts'", 'events search --failed'],
    ['events serach', "unknown command 'serach'", 'events search'],
    ['profiles lst', "unknown command 'lst'", 'profiles list'],
    ['profiles delet', "unknown command 'delet'", 'profiles delete'],
    ['config ste', "unknown command 'ste'", 'config set'],
    // Commands by other names, with what followed them.
    ['search --failed', "unknown command 'search'", 'events search --failed'],
    [
      'events list --status failed --since yesterday',
      "unknown command 'list'",
      'events search --status failed --since yesterday',
    ],
    ['events list --format json', "unknown command 'list'", 'events search --output json'],
    ['events login', "unknown command 'login'", 'login'],
    ['listen', "unknown command 'listen'", 'webhooks listen'],
    ['events retry', "unknown command 'retry'", 'webhooks replay'],
    [`events resend --id ${GUID}`, "unknown command 'resend'", `webhooks replay --id ${GUID}`],
    ['webhooks retry', "unknown command 'retry'", 'webhooks replay'],
    ['webhooks test', "unknown command 'test'", 'webhooks send'],
    ['webhooks trigger', "unknown command 'trigger'", 'webhooks send'],
    ['whoami', "unknown command 'whoami'", 'status'],
    ['auth login --paste', "unknown command 'auth'", 'login --paste'],
    ['auth status', "unknown command 'auth'", 'status'],
    ['types', "unknown command 'types'", 'event-types'],
    [`describe ${GUID}`, "unknown command 'describe'", `events get ${GUID}`],
    ['logs', "unknown command 'logs'", 'events search'],
    ['logs tail', "unknown command 'logs'", 'events watch'],
    ['open', "unknown command 'open'", 'events browse'],
    // Words that belong to a flag.
    ['events count failed', "events count takes no words, but was given 'failed'", 'events count --failed'],
    [
      'webhooks send order.created',
      "webhooks send takes no words, but was given 'order.created'",
      'webhooks send --type order.created',
    ],
    [
      'login https://id.example',
      "login takes no words, but was given 'https://id.example'",
      'login --auth-url https://id.example',
    ],
    ['events count --json a,b', "events count takes no words, but was given 'a,b'", undefined],
  ] as const)('%s', async (line, message, next) => {
    const stderr = await errorOf(line);
    if (next === undefined) return expect(stderr).toContain(`error: ${message}\nnext: `);
    expect(stderr).toBe(`error: ${message}\nnext: hooktrail ${next}\n`);
  });
});

describe('where no line can be meant, the next step leads on', () => {
  test.each([
    [
      'events search --nonsense',
      "unknown option '--nonsense'",
      '`hooktrail events search --help` shows its flags',
    ],
    ['login --start', "unknown option '--start'", '`hooktrail login --help` shows its flags'],
    [
      'events search --to --failed',
      "unknown option '--to'",
      '`hooktrail events search --help` shows its flags',
    ],
    ['foo bar', "unknown command 'foo'", '`hooktrail --help` lists the commands'],
    [
      'list',
      "unknown command 'list'",
      'did you mean `hooktrail events search`, `hooktrail profiles list` or `hooktrail config list`?',
    ],
    [
      'profiles list delet',
      "profiles list takes no words, but was given 'delet'",
      '`hooktrail profiles list --help` shows what it takes',
    ],
    [
      'events count nonsense',
      "events count takes no words, but was given 'nonsense'",
      'hooktrail events count --grep nonsense',
    ],
    [
      'events health 22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
      "events health takes no words, but was given '22284310-c2cd-4a3e-a9e8-1d7b8995da7f'",
      'hooktrail events health --subscription 22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
    ],
    [
      'events count status=FAILED',
      "events count takes no words, but was given 'status=FAILED'",
      'events are chosen by filters: see `hooktrail help filters`',
    ],
    [
      'events search --limit',
      '--limit needs a value: <number>',
      '`hooktrail events search --help` says which',
    ],
    [
      'events export',
      'events export needs <directory>',
      'for instance `hooktrail events export november --since 2026-11-01 --until 2026-12-01`',
    ],
    [
      'events search --color=always',
      "unknown option '--color'",
      'colour is on for a terminal; FORCE_COLOR=1 in the environment forces it, --no-color turns it off',
    ],
    [
      'login --client-secret s3cret',
      '--client-secret: a secret is never an argument',
      '`hooktrail login` asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET',
    ],
    [
      'events search --token=s3cret',
      '--token: a secret is never an argument',
      'set HOOKTRAIL_ACCESS_TOKEN, HOOKTRAIL_ACCESS_TOKEN_FILE or HOOKTRAIL_ACCESS_TOKEN_COMMAND',
    ],
  ])('%s', async (line, message, next) => {
    expect(await errorOf(line)).toBe(`error: ${message}\nnext: ${next}\n`);
  });
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
