import { beforeAll, describe, expect, test } from 'vitest';
import { type Described, describeAll } from '../../build/manual-page.ts';
import { topics } from '../../src/help/topics.ts';
import { callsIn, commandFor } from '../support/command-lines.ts';

let commands: readonly Described[];
beforeAll(async () => {
  ({ commands } = await describeAll());
});

/** Returns the command lines of a help text. */
function examplesOf(notes: string): string {
  return notes.slice(Math.max(0, notes.search(/^Examples?:$/m)));
}

describe('the help of every command', () => {
  test('shows at least two examples', () => {
    const counts = commands.map(
      ({ command, notes }) => [command.name(), callsIn(examplesOf(notes)).length] as const,
    );
    expect(counts.filter(([, count]) => count < 2)).toEqual([]);
  });

  test('shows examples that the command tree takes, of that command', async () => {
    for (const { command, notes } of commands) {
      for (const words of callsIn(examplesOf(notes)))
        expect([words, await commandFor(words)]).toEqual([
          words,
          expect.stringContaining(` ${command.name()}`),
        ]);
    }
  });

  test('says what each option does', () => {
    for (const { command } of commands) {
      for (const option of command.options)
        expect([option.long, option.description]).not.toEqual([option.long, '']);
    }
  });

  test('fits a terminal of 80 columns', async () => {
    const texts = commands.map(({ command, notes }) => {
      const help = command.createHelp();
      help.prepareContext({ helpWidth: 80 });
      return `${help.formatHelp(command, help)}\n${notes}`;
    });
    for (const topic of topics) texts.push(await topic.text());
    expect(texts.flatMap((text) => text.split('\n').filter((line) => line.length > 80))).toEqual([]);
  });
});

describe('a topic', () => {
  test('shows examples that the command tree takes', async () => {
    const calls = (await Promise.all(topics.map(({ text }) => text()))).flatMap((text) =>
      callsIn((text.match(/^ {2}hooktrail .*$/gm) ?? []).join('\n')),
    );
    expect(calls.length).toBeGreaterThan(1);
    for (const words of calls)
      expect([words, await commandFor(words)]).toEqual([
        words,
        expect.stringMatching(`^hooktrail ${words[0]}`),
      ]);
  });

  test('for agents has fewer than 1,500 words', async () => {
    const page = await topics.find(({ name }) => name === 'agents')?.text();
    expect(page?.split(/\s+/).length).toBeLessThan(1_500);
  });
});
