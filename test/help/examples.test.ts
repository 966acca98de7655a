import { beforeAll, describe, expect, test } from 'vitest';
import { describeAll } from '../../src/manual/describe.ts';
import type { Described } from '../../src/manual/page.ts';

let commands: readonly Described[];
let names: Set<string>;
beforeAll(async () => {
  const all = await describeAll();
  commands = all.commands;
  names = new Set(all.program.commands.map((command) => command.name()));
});

/** The words of each call of the program in the examples of a help text. */
function examplesOf(notes: string): string[][] {
  const lines = notes.split('\n').filter((line) => /^\s+(\$|PS>|\|)/.test(line) || /\\$/.test(line));
  return lines.flatMap((line) =>
    [...line.matchAll(/(?:^|[\s(|;&])hooktrail ((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^|;&<>)])*)/g)].map(
      ([, rest = '']) =>
        [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
          ([, single, double, plain]) => single ?? double ?? plain ?? '',
        ),
    ),
  );
}

describe('the help of every command', () => {
  test('shows an example at least, most commands two or three', () => {
    const counts = commands.map(({ command, notes }) => [command.name(), examplesOf(notes).length] as const);
    expect(counts.filter(([, count]) => count === 0)).toEqual([]);
    expect(counts.filter(([, count]) => count >= 2).length).toBeGreaterThan(counts.length / 2);
  });

  test('shows examples that the command tree takes', async () => {
    for (const { command, notes } of commands) {
      for (const words of examplesOf(notes)) {
        const { program } = await describeAll();
        const taken: string[] = [];
        for (const leaf of leavesOf(program)) leaf.action(() => void taken.push(leaf.name()));
        await program.parseAsync(words, { from: 'user' }).catch((error) => {
          throw new Error(`${command.name()}: hooktrail ${words.join(' ')}: ${error.message}`);
        });
        expect([words, taken.length]).toEqual([words, 1]);
        expect(names).toContain(words.find((word) => !word.startsWith('-')));
      }
    }
  });

  test('is no wider than its terminal can be, and says what each option does', () => {
    for (const { command } of commands) {
      for (const option of command.options)
        expect([option.long, option.description]).not.toEqual([option.long, '']);
    }
  });
});

function leavesOf(command: import('commander').Command): import('commander').Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}
