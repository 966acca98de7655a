import { access, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentText, exitCodesText } from '../../src/help/topics.ts';
import { callsIn, commandFor } from '../support/command-lines.ts';

const root = path.resolve(import.meta.dirname, '../..');
const readme = await readFile(path.join(root, 'README.md'), 'utf8');
const prose = readme.replaceAll(/^```[\s\S]*?^```$/gm, '');

/** The ids that GitHub generates for headings. */
const anchors = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
  text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-'),
);

describe('the README', () => {
  const targets = [...prose.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);

  test('names files and folders that exist', async () => {
    const files = targets.filter((target) => !target.startsWith('#'));
    expect(files.length).toBeGreaterThan(30);
    const missing = await Promise.all(
      files.map((file) =>
        access(path.join(root, file)).then(
          () => [],
          () => [file],
        ),
      ),
    );
    expect(missing.flat()).toEqual([]);
  });

  test('names each file by the end of its path', () => {
    const named = [...prose.matchAll(/\[`([^`]+)`\]\(([^)]+)\)/g)];
    for (const [, name = '', target = ''] of named)
      expect(`/${target}`).toMatch(new RegExp(`/${name.replace(/\/$/, '').replaceAll('.', '\\.')}$`));
  });

  test('links to headings that it has', () => {
    const links = targets.filter((target) => target.startsWith('#')).map((target) => target.slice(1));
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });

  test('shows every picture that is kept for it', async () => {
    const pictures = await readdir(path.join(root, 'test/readme/pictures'));
    for (const picture of pictures.filter((name) => /\.(svg|png)$/.test(name)))
      expect(targets).toContain(`test/readme/pictures/${picture}`);
  });

  test('runs npm scripts that exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
    const named = [...readme.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test('lists the variables and exit codes that the help lists', () => {
    // The help explains once that secrets may come from a file or a command.
    const names = (text: string) =>
      new Set(text.match(/\bHOOKTRAIL_[A-Z_]+/g)?.map((name) => name.replace(/_(FILE|COMMAND)$/, '')));
    expect(names(readme)).toEqual(names(environmentText()));
    const codes = (text: string, row: RegExp) =>
      [...text.matchAll(row)].flatMap(([, code = '']) => code.split(', '));
    expect(codes(readme, /^\| (\d[\d, ]*) \|/gm)).toEqual(codes(exitCodesText(), /^ {2}(\d+) {2}/gm));
  });

  test('shows commands that the command tree takes', async () => {
    const blocks = [...readme.matchAll(/^```(?:sh|console|powershell)\n([\s\S]*?)^```$/gm)].map(
      ([, text = '']) => text,
    );
    // In sentences, code without options only names a command, and the reader has to fill in … and capitals.
    const spoken = [...prose.matchAll(/`(hooktrail [^`]* -[^`]*)`/g)]
      .map(([, text = '']) => text)
      .filter((text) => !/…|[A-Z]{4}/.test(text));
    const calls = callsIn([...blocks.map((block) => block.replaceAll(/^\$ /gm, '')), ...spoken].join('\n'));
    expect(calls.length).toBeGreaterThan(30);
    for (const words of calls) expect(await commandFor(words)).toMatch(/^hooktrail /);
  });
});
