import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { hasWindows, windowsNode } from '../support/requirement.ts';
import { createWindowsHome, onWindows, prepareWindows, runOnWindows } from '../support/windows.ts';

/** A batch file like those that npm makes, whose own end in a `goto` that Wine does not follow. */
const shim = (program: string) => `@ECHO off\r\n"node" "${program}" %*\r\n`;

describe.skipIf(!hasWindows)('a batch file on the path', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 120_000);

  const installed = async (name: string, program: string) => {
    const home = await createWindowsHome();
    const bin = path.join(home.folder, 'npm bin');
    await mkdir(bin);
    await writeFile(path.join(bin, `${name}.cmd`), shim(program));
    const env = {
      ...home.env,
      PATH: [onWindows(bin), onWindows(path.dirname(windowsNode)), 'C:\\windows\\system32'].join(';'),
    };
    return { env, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
  };

  test('runs hooktrail, also as the command of a sandbox', async () => {
    await using at = await installed('hooktrail', onWindows(inject('program')));
    const words = ['sandbox', '--events', '10', '--', 'hooktrail', 'events', 'count', '--failed'];
    expect(await runOnWindows(words, { env: at.env })).toEqual({ code: 0, stdout: '1\n', stderr: '' });
    const refused = ['sandbox', '--events', '0', '--', 'hooktrail', 'events', 'count', '--status', 'NONE'];
    expect(await runOnWindows(refused, { env: at.env })).toMatchObject({ code: 2 });
  });

  test('gets the words that it was given', async () => {
    const program = path.join(import.meta.dirname, '../support/print-words.cjs');
    await using at = await installed('words', onWindows(program));
    // Without a percent sign, which Wine's cmd.exe reads in another way than that of Windows.
    const words = ['two words', 'a"b', 'a&b|c>d', '^', '!x!', 'C:\\dir\\', '(1,2)', "it's", 'ü'];
    const { code, stdout } = await runOnWindows(['sandbox', '--events', '0', '--', 'words', ...words], {
      env: at.env,
    });
    expect([code, JSON.parse(stdout)]).toEqual([0, words]);
  });
});
