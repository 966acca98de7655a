import { beforeAll, describe, expect, test } from 'vitest';
import { type Described, describeCommands } from '../../src/cli/command-description.ts';
import { fullHelp } from '../../src/cli/help-text.ts';
import { topics, topicText } from '../../src/cli/topics.ts';
import type { TreeCommand } from '../../src/command.ts';
import { callsIn, commandFor, describeAll, pathOf } from '../support/command-lines.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

let commands: readonly Described[];
beforeAll(async () => {
  ({ commands } = await describeAll());
});

describe('the help of every command', () => {
  test('shows at least two examples', () => {
    const counts = commands.map(
      ({ command, examples }) => [command.name(), callsIn(examples.join('\n')).length] as const,
    );
    expect(counts.filter(([, count]) => count < 2)).toEqual([]);
  });

  test('shows examples that the command tree takes, the first of that command', async () => {
    for (const { command, examples } of commands) {
      const [first, ...others] = callsIn(examples.join('\n'));
      expect(await commandFor(first ?? [])).toBe(pathOf(command));
      for (const words of others) expect(await commandFor(words)).toMatch(/^hooktrail /);
    }
  });

  test('says what each option does', () => {
    for (const { command } of commands) {
      for (const option of command.options)
        expect([option.long, option.description]).not.toEqual([option.long, '']);
    }
  });

  test('fits a terminal of 80 columns', async () => {
    const texts = commands.map(({ command }) => fullHelp(command, 80));
    for (const { name } of topics) texts.push(topicText(name));
    expect(texts.flatMap((text) => text.split('\n').filter((line) => line.length > 80))).toEqual([]);
  });

  test('ends with the blocks that commands share, and the flags that are rarely needed', () => {
    for (const { command } of commands) {
      const headings = ['Filters:', 'Format:', 'Rarely needed:', 'Connection:', 'Global:'];
      const text = fullHelp(command, 80);
      const found = [...text.matchAll(/^[A-Z][a-z ]+:/gm)].map(([heading]) => heading);
      const expected = headings.filter((heading) => found.includes(heading));
      expect([command.name(), found.slice(-expected.length)]).toEqual([command.name(), expected]);
    }
  });
});

test('-h of every command has an example, and fits a screen of 24 lines by 80 columns', async () => {
  await using home = await createHome();
  const paths = commands.map(({ command }) => pathOf(command).split(' ').slice(1));
  for (const path of [[], ...paths, ['events'], ['webhooks'], ['profiles'], ['config']]) {
    const { code, stdout, stderr } = await hooktrail([...path, '-h'], { env: home.env });
    expect([path, code, stderr]).toEqual([path, 0, '']);
    const calls = callsIn(stdout.replaceAll(/^(?! {2}(\$|PS>)).*$/gm, ''));
    expect([stdout, calls.length > 0]).toEqual([stdout, true]);
    for (const words of calls) expect(await commandFor(words)).toMatch(/^hooktrail /);
    const lines = stdout.split('\n');
    expect([
      stdout,
      lines.length <= 24,
      lines.every((line) => line.length <= 80 && !line.endsWith('…')),
    ]).toEqual([stdout, true, true]);
  }
});

test('the help of the program itself fits 44 lines', async () => {
  await using home = await createHome();
  const { stdout } = await hooktrail(['--help'], { env: home.env });
  expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(44);
});

test('the common flags of each command are its flags', async () => {
  const { program } = await describeAll();
  for (const { command } of await describeCommands(program)) {
    const commonFlags = (command as TreeCommand).module?.commonFlags?.split(' ') ?? [];
    const flags = command.options.map(({ long }) => long);
    expect([command.name(), commonFlags.filter((flag) => !flags.includes(flag))]).toEqual([
      command.name(),
      [],
    ]);
  }
});

describe('a topic', () => {
  test('shows examples that the command tree takes', async () => {
    const calls = topics
      .map(({ name }) => topicText(name))
      .flatMap((text) => callsIn((text.match(/^ {2}hooktrail .*$/gm) ?? []).join('\n')));
    expect(calls.length).toBeGreaterThan(1);
    for (const words of calls)
      expect([words, await commandFor(words)]).toEqual([
        words,
        expect.stringMatching(`^hooktrail ${words[0]}`),
      ]);
  });

  test('for agents has fewer than 1,500 words', async () => {
    const page = topicText('agents');
    expect(page.split(/\s+/).length).toBeLessThan(1_500);
  });
});
