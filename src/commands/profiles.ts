import type { Command } from 'commander';
import type { Action, Call, CommandModule } from '../command.ts';
import {
  changeConfig,
  chooseProfile,
  readConfig,
  savedProfileName,
  unknownProfile,
} from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

interface ListFlags {
  readonly json?: true;
}

export const profileList: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .option('--json', 'print the profiles as a JSON array')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail profiles
  $ hooktrail profiles list --json`,
      )
      .action(action(listProfiles));
  },
};

async function listProfiles({ flags, context, reporter }: Call<ListFlags>): Promise<void> {
  const config = await readConfig(context);
  const active = chooseProfile(flags, context.environment, config).profile;
  const { signedInProfiles } = await import('../sign-in/sign-in-state.ts');
  const signedIn = await signedInProfiles(config, context);
  const profiles = Object.entries(config.profiles).map(([name, saved]) => ({
    name,
    active: name === active,
    signedIn: signedIn.has(name),
    baseUrl: saved['base-url'] ?? null,
    authUrl: saved['auth-url'] ?? null,
    clientId: saved['client-id'] ?? null,
  }));
  if (flags.json) {
    const { printJson } = await import('../output/formats.ts');
    await printJson(profiles, undefined, context, reporter, JSON.stringify(profiles));
    return;
  }
  if (profiles.length === 0) return reporter.notice('no profiles yet: `hooktrail login` saves one');
  const titles = ['', 'profile', 'signed in', 'event service', 'identity provider', 'client id'];
  const rows = profiles.map(({ active, name, signedIn, baseUrl, authUrl, clientId }) => [
    active ? '*' : '',
    name,
    signedIn ? 'yes' : 'no',
    baseUrl ?? '-',
    authUrl ?? '-',
    clientId ?? '-',
  ]);
  const { stdout } = context;
  if (stdout.isTerminal && widthOf([titles, ...rows]) > stdout.columns)
    return await stdout.write(blocks(titles, rows));
  const { tableText } = await import('../output/table.ts');
  await stdout.write(await tableText({ heads: titles.map((title) => ({ title })), rows }, stdout, reporter));
}

/** The rows in columns, two spaces apart. */
function widthOf(rows: readonly (readonly string[])[]): number {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return widths.reduce((sum, width) => sum + width + 2, -2);
}

/** One block per profile: a table would cut the addresses, which often differ only at their ends. */
function blocks(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows
    .map(([active, name, ...values]) => {
      const lines = values.map(
        (value, index) => `    ${titles[index + 2]?.padEnd(17)}  ${terminalSafeLine(value)}\n`,
      );
      return `${active ? '*' : ' '} ${terminalSafeLine(name ?? '')}\n${lines.join('')}`;
    })
    .join('');
}

export const profileUse: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .argument(
        '<name>',
        'the profile that commands use when neither --profile nor HOOKTRAIL_PROFILE names one',
      )
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail profiles use staging
  $ hooktrail profiles use default`,
      )
      .action(action(useProfile));
  },
};

async function useProfile({ args, context, reporter }: Call): Promise<void> {
  const typed = args[0] as string;
  let name = typed;
  await changeConfig(context, (config) => {
    const saved = savedProfileName(typed, config);
    if (saved === undefined) throw unknownProfile(typed, config);
    config.profile = name = saved;
  });
  reporter.notice(`switched to profile '${name}'`);
}

export const profileDelete: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .argument('<name>', 'the profile to delete, with everything stored for it')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail profiles delete staging
  $ hooktrail profiles delete sandbox --quiet`,
      )
      .action(action(removeProfile));
  },
};

async function removeProfile({ args, context, reporter }: Call): Promise<void> {
  const { deleteProfile } = await import('../sign-in/sign-out.ts');
  await deleteProfile(args[0] as string, context, reporter);
}
