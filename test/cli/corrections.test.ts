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
    "error: events search takes no words, but was given '7c9e6679-7425-40de-944b-e07fc1f90ae7'",
    'next: hooktrail events get 7c9e6679-7425-40de-944b-e07fc1f90ae7',
  ),
  'events search --since 2026-11-20 08:30': said(
    "error: events search takes no words, but was given '08:30'",
    "next: hooktrail events search --since '2026-11-20 08:30'",
  ),
  'events search --from a.ndjson b.ndjson': said(
    "error: events search takes no words, but was given 'b.ndjson'",
    'next: several files go through standard input: cat FILES | hooktrail … --from -',
  ),
  'events search order.created': said(
    "error: events search takes no words, but was given 'order.created'",
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
