import { advise, hooktrail } from '../advice.ts';
import type { Call, CommandModule } from '../command.ts';
import {
  changeConfig,
  chooseProfile,
  readConfig,
  savedProfileName,
  unknownProfile,
} from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

export const profileList: CommandModule = {
  examples: ['hooktrail profiles', 'hooktrail profiles list --json'],
  declare: (command) => command.option('--json', 'print the profiles as a JSON array'),
  run: listProfiles,
};

async function listProfiles({ flags, context, reporter }: Call<{ readonly json?: true }>): Promise<void> {
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
    const { printJson } = await import('../formats/item-writer.ts');
    await printJson(profiles, undefined, context, reporter, JSON.stringify(profiles));
    return;
  }
  if (profiles.length === 0) return reporter.notice(advise`no profiles yet: ${hooktrail('login')} saves one`);
  const titles = ['', 'profile', 'signed in', 'event service', 'identity provider', 'client id'];
  const rows = profiles.map(({ active, name, signedIn, baseUrl, authUrl, clientId }) =>
    [active ? '*' : '', name, signedIn ? 'yes' : 'no', baseUrl, authUrl, clientId].map((cell) => cell ?? '-'),
  );
  const { stdout } = context;
  const widthOf = (_: string, column: number) =>
    Math.max(...[titles, ...rows].map((row) => row[column]?.length ?? 0)) + 2;
  const width = titles.map(widthOf).reduce((sum, one) => sum + one, -2);
  if (!stdout.isTerminal || width <= stdout.columns) {
    const { tableText } = await import('../formats/table.ts');
    return await stdout.write(
      await tableText({ heads: titles.map((title) => ({ title })), rows }, stdout, reporter),
    );
  }
  // A table would cut the addresses, which often differ only at their ends.
  for (const [active, name = '', ...values] of rows) {
    const lines = values.map(
      (value, index) => `    ${titles[index + 2]?.padEnd(17)}  ${terminalSafeLine(value)}\n`,
    );
    await stdout.write(`${active || ' '} ${terminalSafeLine(name)}\n${lines.join('')}`);
  }
}

export const profileUse: CommandModule = {
  examples: ['hooktrail profiles use staging', 'hooktrail profiles use default'],
  declare: (command) =>
    command.argument(
      '<name>',
      'the profile that commands use when neither --profile nor HOOKTRAIL_PROFILE names one',
    ),
  run: useProfile,
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
  examples: ['hooktrail profiles delete staging', 'hooktrail profiles delete sandbox --quiet'],
  declare: (command) => command.argument('<name>', 'the profile to delete, with its settings and secrets'),
  run: removeProfile,
};

async function removeProfile({ args, context, reporter }: Call): Promise<void> {
  const { deleteProfile } = await import('../sign-in/sign-out.ts');
  await deleteProfile(args[0] as string, context, reporter);
}
