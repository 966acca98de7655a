import { beforeAll, describe, expect, test } from 'vitest';
import { ExitCode } from '../../src/errors.ts';
import { describeAll, pathOf } from '../support/command-lines.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

interface Told {
  readonly globalOptions: readonly { flag: string }[];
  readonly commands: readonly {
    command: string;
    arguments: readonly object[];
    options: readonly { flag: string }[];
    notes: string;
    examples: readonly string[];
  }[];
  readonly exitCodes: readonly { code: number; meaning: string }[];
}

let told: Told;
beforeAll(async () => {
  await using home = await createHome();
  const { code, stdout, stderr } = await hooktrail(['help', '--json'], { env: home.env });
  expect([code, stderr]).toEqual([0, '']);
  told = JSON.parse(stdout);
});

const optionOf = (command: string, flag: string) =>
  told.commands.find((one) => one.command === command)?.options.find((one) => one.flag === flag);

describe('help --json', () => {
  test('of a command describes that command, and of a group its commands', async () => {
    await using home = await createHome();
    const described = async (words: string) => {
      const { stdout } = await hooktrail(['help', '--json', ...words.split(' ')], { env: home.env });
      return JSON.parse(stdout).commands.map(({ command }: { command: string }) => command);
    };
    expect(await described('events count')).toEqual(['hooktrail events count']);
    expect(await described('webhooks')).toEqual(
      ['listen', 'recover', 'reconcile', 'replay', 'send'].map((name) => `hooktrail webhooks ${name}`),
    );
  });

  test('lists every command with every flag', async () => {
    const { program, commands } = await describeAll();
    const flagsOf = (options: readonly { long?: string | undefined }[]) => options.map(({ long }) => long);
    expect(told.commands.map(({ command, options }) => [command, options.map(({ flag }) => flag)])).toEqual(
      commands.map(({ command }) => [pathOf(command), flagsOf(command.options)]),
    );
    expect(told.globalOptions.map(({ flag }) => flag)).toEqual([...flagsOf(program.root.options), '--help']);
  });

  test('gives the type, default, variable, setting and values of a flag', () => {
    expect(optionOf('hooktrail events search', '--page-size')).toEqual({
      flag: '--page-size',
      value: 'number',
      description: 'events per request, 1 to 500 (default: 500)',
      type: 'integer',
      minimum: 1,
      maximum: 500,
      repeatable: false,
      default: 500,
    });
    expect(optionOf('hooktrail events search', '--base-url')).toMatchObject({
      type: 'string',
      variable: 'HOOKTRAIL_BASE_URL',
      setting: 'base-url',
    });
    expect(optionOf('hooktrail events search', '--status')).toMatchObject({
      repeatable: true,
      allowedValues: ['SUCCESS', 'FAILED'],
    });
    expect(optionOf('hooktrail events search', '--where')).toMatchObject({ repeatable: true });
    expect(optionOf('hooktrail events search', '--output')).toMatchObject({ default: 'table' });
    expect(optionOf('hooktrail webhooks replay', '--concurrency')).toMatchObject({ default: 1 });
    expect(optionOf('hooktrail events watch', '--interval')).toMatchObject({
      type: 'duration',
      default: '15s',
    });
    expect(optionOf('hooktrail login', '--timeout')).toMatchObject({ type: 'duration', default: '5m' });
    expect(optionOf('hooktrail events search', '--after')).toMatchObject({ synonym: true });
    expect(told.globalOptions).toContainEqual(
      expect.objectContaining({ flag: '--profile', variable: 'HOOKTRAIL_PROFILE' }),
    );
  });

  test('gives every exit code with its meaning', () => {
    expect(told.exitCodes.map(({ code }) => code)).toEqual(Object.values(ExitCode));
    expect(told.exitCodes[5]).toEqual({
      code: 5,
      meaning: 'the service could not be reached, after retries: DNS, refused, TLS, time-out',
    });
  });

  test('lists arguments with their values', () => {
    const completion = told.commands.find(({ command }) => command === 'hooktrail completion');
    expect(completion?.arguments).toMatchObject([
      { name: 'shell', allowedValues: ['bash', 'zsh', 'fish', 'powershell'] },
    ]);
  });
});
