import { expect, test } from 'vitest';
import { COMMAND_RULES } from '../../src/cli/command-corrections.ts';
import { FLAG_RULES } from '../../src/cli/flag-corrections.ts';
import { OPERAND_RULES } from '../../src/cli/operand-corrections.ts';
import { describeAll, pathOf } from '../support/command-lines.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

/** What each rule makes of its example. */
const CORRECTED: Readonly<Record<string, string>> = {
  'events 7c9e6679-7425-40de-944b-e07fc1f90ae7': said(
    "error: unknown command '7c9e6679-7425-40de-944b-e07fc1f90ae7'",
    'next: hooktrail events get 7c9e6679-7425-40de-944b-e07fc1f90ae7',
  ),
  whoami: said("error: unknown command 'whoami'", 'next: hooktrail status'),
  'evnets count': said("error: unknown command 'evnets'", 'next: hooktrail events count'),
  'login --client-secret s3cret': said(
    'error: --client-secret: a secret is never an argument',
    'next: `hooktrail login` asks for it; a script sends it to --client-secret-stdin, or sets HOOKTRAIL_CLIENT_SECRET',
  ),
  'events watch ./handle.sh --verbosely': said(
    "error: events watch takes a command after --, but was given './handle.sh'",
    'next: hooktrail events watch -- ./handle.sh --verbosely',
  ),
  'events count --failed=true': said(
    'error: --failed takes no value',
    'next: hooktrail events count --failed',
  ),
  upgrade: said(
    "error: unknown command 'upgrade'",
    'next: `git pull && npm ci && npm run build` in its checkout upgrades hooktrail; `hooktrail subscriptions update` changes a subscription',
  ),
  'webhooks recover --from exported': said(
    "error: unknown option '--from'",
    'next: `hooktrail webhooks replay --from exported` sends events of an export',
  ),
  'events explain --exit-code': said(
    "error: unknown option '--exit-code'",
    'next: `hooktrail events health --exit-code` exits with 10 while something is failing',
  ),
  'events watch --exec ./handle.sh': said(
    "error: unknown option '--exec'",
    'next: hooktrail events watch -- ./handle.sh',
  ),
  'events search --sort asc': said(
    "error: unknown option '--sort'",
    'next: hooktrail events search --reverse',
  ),
  'events search --customer acme': said(
    "error: unknown option '--customer'",
    'next: hooktrail events search --grep acme',
  ),
  "events search --json -q '.[0]' -r": said(
    "error: unknown option '-r'",
    "next: hooktrail events search --json -q '.[0]'",
  ),
  'events search --color never': said(
    "error: unknown option '--color'",
    'next: hooktrail events search --no-color',
  ),
  'events search 7c9e6679-7425-40de-944b-e07fc1f90ae7': said(
    "error: events search takes no arguments, but was given '7c9e6679-7425-40de-944b-e07fc1f90ae7'",
    'next: hooktrail events get 7c9e6679-7425-40de-944b-e07fc1f90ae7',
  ),
  'events search --aftre 1d': said(
    "error: unknown option '--aftre'",
    'next: hooktrail events search --after 1d',
  ),
  'webhooks replay --failed --beforre=1d --forward-to http://127.0.0.1:9/': said(
    "error: unknown option '--beforre'",
    'next: hooktrail webhooks replay --failed --before 1d --forward-to http://127.0.0.1:9/',
  ),
  'events search --since 2026-11-20 08:30': said(
    "error: events search takes no arguments, but was given '08:30'",
    "next: hooktrail events search --since '2026-11-20 08:30'",
  ),
  'events search --from a.ndjson b.ndjson': said(
    "error: events search takes no arguments, but was given 'b.ndjson'",
    'next: several files go through standard input: cat FILES | hooktrail … --from -',
  ),
  'events find Harbour Freight': said(
    "error: events find takes only <text>, but was given 'Freight'",
    "next: hooktrail events find 'Harbour Freight'",
  ),
  'events search —failed': said(
    "error: events search takes no arguments, but was given '—failed'",
    'next: hooktrail events search --failed',
  ),
  'events search –-failed': said(
    "error: events search takes no arguments, but was given '–-failed'",
    'next: hooktrail events search --failed',
  ),
  'events search --where “order = 5”': said(
    "error: events search takes no arguments, but was given '='",
    "next: hooktrail events search --where 'order = 5'",
  ),
  'events search order.created': said(
    "error: events search takes no arguments, but was given 'order.created'",
    'next: hooktrail events search --type order.created',
  ),
  'events watch ./handle.sh x': said(
    "error: events watch takes a command after --, but was given './handle.sh'",
    'next: hooktrail events watch -- ./handle.sh x',
  ),
};

function said(...lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

test.each([...COMMAND_RULES, ...FLAG_RULES, ...OPERAND_RULES].map(({ example }) => example))(
  '%s is put right by its rule',
  async (example) => {
    await using home = await createHome();
    const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const { code, stdout, stderr } = await hooktrail(words, { env: home.env });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: CORRECTED[example] });
  },
);

const ID = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const FILTERS = 'next: events are chosen by filters: see `hooktrail help filters`';
const flagsOf = (command: string) => `next: \`hooktrail ${command} --help\` shows its flags`;
const ORDERS =
  "next: events come newest first, and oldest first with --reverse; by another field with --jq 'sort_by(.field)'";

test.each([
  // A verb and its noun.
  [
    'subscriptions delete hooks.example.com',
    "unknown command 'delete'",
    'next: hooktrail subscriptions disable hooks.example.com',
  ],
  [`describe event ${ID}`, "unknown command 'describe'", `next: hooktrail events get ${ID}`],
  ['get events', "unknown command 'get'", 'next: hooktrail events search'],
  ['diagnose events', "unknown command 'diagnose'", 'next: hooktrail events explain'],
  ['failures --since 2d', "unknown command 'failures'", 'next: hooktrail events search --failed --since 2d'],
  ['show event', "unknown command 'show'", 'next: hooktrail events get'],
  // A flag before its command, and one of a group.
  ['--limit 5 events search', '--limit belongs after the command', 'next: hooktrail events search --limit 5'],
  ['events --limit 5 search', '--limit belongs after the command', 'next: hooktrail events search --limit 5'],
  ['--tail 5 events search', "unknown option '--tail'", 'next: hooktrail events search --limit 5'],
  ['events --limit 5', "unknown option '--limit'", flagsOf('events')],
  ['events --nonsense', "unknown option '--nonsense'", flagsOf('events')],
  // Nearly a flag of another program, and nearly a value of it.
  ['events search --sort created-asc', "unknown option '--sort'", ORDERS],
  ['events search --sort asc-first', "unknown option '--sort'", ORDERS],
  ['events search --sort first-desc', "unknown option '--sort'", ORDERS],
  ['events search --sort desc-first', "unknown option '--sort'", ORDERS],
  ['events search --order-id 7', "unknown option '--order-id'", flagsOf('events search')],
  ['events watch --executor ./x', "unknown option '--executor'", flagsOf('events watch')],
  ['events watch --x--run ./x', "unknown option '--x--run'", flagsOf('events watch')],
  // Words that are a time, a text or a program.
  [
    'events search --since=2 hours ago',
    "events search takes no arguments, but was given 'hours'",
    "next: hooktrail events search '--since=2 hours ago'",
  ],
  ['events search 2 hours ago', "events search takes no arguments, but was given '2'", FILTERS],
  ['events search ab', "events search takes no arguments, but was given 'ab'", FILTERS],
  ['events search a=b', "events search takes no arguments, but was given 'a=b'", FILTERS],
  [
    'events watch refused',
    "events watch takes a command after --, but was given 'refused'",
    'next: hooktrail events watch --grep refused',
  ],
  ...['./handle.sh', '../handle.sh', '/bin/handle'].map((program) => [
    `events watch ${program}`,
    `events watch takes a command after --, but was given '${program}'`,
    `next: hooktrail events watch -- ${program}`,
  ]),
  // Words of one text.
  [
    'events find --since 7d Harbour Freight Ltd --json',
    "events find takes only <text>, but was given 'Freight'",
    "next: hooktrail events find --since 7d 'Harbour Freight Ltd' --json",
  ],
  [
    'events about a b',
    "events about takes only <word>, but was given 'b'",
    "next: hooktrail events about 'a b'",
  ],
  [
    'events find Harbour --since 7d Freight',
    "events find takes only <text>, but was given 'Freight'",
    'next: hooktrail events find Harbour --since 7d --grep Freight',
  ],
  [
    'events find Harbour failed',
    "events find takes only <text>, but was given 'failed'",
    'next: hooktrail events find Harbour --failed',
  ],
  [
    'subscriptions token a b',
    "subscriptions token takes only <id>, but was given 'b'",
    'next: `hooktrail subscriptions token --help` shows what it takes',
  ],
])('%s', async (line = '', problem = '', next = '') => {
  await using home = await createHome();
  const { code, stdout, stderr } = await hooktrail(line.split(' '), { env: home.env });
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: said(`error: ${problem}`, next) });
});

test('each command that lacks an argument is shown in an example, with the argument', async () => {
  const { commands } = await describeAll();
  const lacking = commands.filter(({ command }) => command.registeredArguments[0]?.required);
  expect(lacking.length).toBeGreaterThan(8);
  await using home = await createHome();
  for (const { command } of lacking) {
    const words = pathOf(command).split(' ').slice(1);
    const { code, stderr } = await hooktrail(words, { env: home.env });
    const [, argument] =
      new RegExp(`next: for instance \`hooktrail ${words.join(' ')} (.+)\`\n$`).exec(stderr) ?? [];
    expect([words.join(' '), code, argument]).toEqual([words.join(' '), 2, expect.any(String)]);
  }
});

test.each<[line: string, next: string]>([
  ['--status SUCCESS,FAILD', 'next: hooktrail events search --status SUCCESS,FAILED'],
  ['--status=FAILD,SUCCESS', 'next: hooktrail events search --status=FAILED,SUCCESS'],
  ['--status=FAILD', 'next: hooktrail events search --status=FAILED'],
  ['--grep XFAILD --status FAILD', 'next: hooktrail events search --grep XFAILD --status FAILED'],
  ['--status FAILD,FAILD', 'next: did you mean FAILED?'],
])('the value in `events search %s` is corrected where it is, if that is one place', async (flags, next) => {
  await using home = await createHome();
  const { stderr } = await hooktrail(['events', 'search', ...flags.split(' ')], { env: home.env });
  expect(stderr.trimEnd().split('\n').at(-1)).toBe(next);
});
