import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

interface Flags {
  readonly json?: true;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--json', 'print the profiles as a JSON array')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail profiles
  $ hooktrail profiles list --json`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { readConfig } = await import('../../settings/config-file.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const config = await readConfig(context);
  const active = chooseProfile(flags, context.environment, config).profile;
  const profiles = Object.entries(config.profiles).map(([name, saved]) => ({
    name,
    active: name === active,
    baseUrl: saved['base-url'] ?? null,
    authUrl: saved['auth-url'] ?? null,
    clientId: saved['client-id'] ?? null,
  }));
  if (flags.json) {
    const { printJson } = await import('../../output/formats.ts');
    await printJson(profiles, undefined, context, reporter, JSON.stringify(profiles));
    return;
  }
  if (profiles.length === 0) {
    reporter.notice('no profiles yet: `hooktrail login` saves one');
    return;
  }
  const header = ['', 'profile', 'event service', 'identity provider', 'client id'];
  const rows = profiles.map(({ active, name, baseUrl, authUrl, clientId }) => [
    active ? '*' : '',
    name,
    baseUrl ?? '-',
    authUrl ?? '-',
    clientId ?? '-',
  ]);
  const { stdout } = context;
  const { oneLine, tableText } = await import('../../output/table.ts');
  const isTooWide = stdout.isTerminal && widthOf([header, ...rows]) > stdout.columns;
  if (isTooWide) return await stdout.write(blocks(header, rows, oneLine));
  await stdout.write(await tableText({ heads: header.map((title) => ({ title })), rows }, stdout, reporter));
}

/** The rows in columns, two spaces apart. */
function widthOf(rows: readonly (readonly string[])[]): number {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return widths.reduce((sum, width) => sum + width + 2, -2);
}

/** One block per profile: a table would cut the addresses, which often differ only at their ends. */
function blocks(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  safe: (text: string) => string,
): string {
  return rows
    .map(([active, name, ...values]) => {
      const lines = values.map((value, index) => `    ${header[index + 2]?.padEnd(17)}  ${safe(value)}\n`);
      return `${active ? '*' : ' '} ${safe(name ?? '')}\n${lines.join('')}`;
    })
    .join('');
}
