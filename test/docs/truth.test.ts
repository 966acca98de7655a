import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { topicText } from '../../src/cli/topics.ts';
import { EFFECT_RULES } from '../../src/explain/effect-rules.ts';
import { callsIn, commandFor } from '../support/command-lines.ts';
import { blocksOf, isThere, type Page, readPages, root } from './pages.ts';

const pages = await readPages();
const pageAt = (file: string) => pages.find((page) => page.file === file) as Page;
const readme = pageAt('README.md');

/** The targets of a page's links: a file from the root, and the heading's id. */
const linksOf = ({ file, prose }: Page) =>
  [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [to = '', anchor] = target.split('#');
      return { target, to: to === '' ? file : path.posix.join(path.posix.dirname(file), to), anchor };
    });

describe('the README', () => {
  test('is at most 12 KB long, with no line over 160 characters', () => {
    expect(Buffer.byteLength(readme.text)).toBeLessThanOrEqual(12_000);
    expect(readme.text.split('\n').filter((line) => line.length > 160)).toEqual([]);
  });

  test('leads to every page', () => {
    const reached = linksOf(readme).map(({ to }) => to);
    expect(
      pages.map(({ file }) => file).filter((file) => file !== 'README.md' && !reached.includes(file)),
    ).toEqual([]);
  });
});

test('the page on explain has each rule for effects, with its threshold and the event that made it', () => {
  const [, rules = ''] = pageAt('docs/explaining.md').text.split('## Causes and effects');
  for (const [name, { failed, ...rule }] of Object.entries(EFFECT_RULES)) {
    const [example] = Object.keys(failed);
    expect([name, rules.includes(example as string)]).toEqual([name, true]);
    if ('share' in rule) expect([name, rules.includes(`${100 * rule.share} %`)]).toEqual([name, true]);
  }
});

describe('every page', () => {
  test('links to files, folders and headings that are there', async () => {
    const broken: string[] = [];
    for (const page of pages)
      for (const { target, to, anchor } of linksOf(page)) {
        const anchors = pages.find(({ file }) => file === to)?.anchors;
        if (!(await isThere(to)) || (anchor !== undefined && !anchors?.includes(anchor)))
          broken.push(`${page.file}: ${target}`);
      }
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(60);
    expect(broken).toEqual([]);
  });

  test('names each file by the end of its path', () => {
    for (const { prose } of pages)
      for (const [, name = '', target = ''] of prose.matchAll(/\[`([^`]+)`\]\(([^)]+)\)/g))
        if (/[./]/.test(name) && !name.includes(' '))
          expect(`/${target}`).toMatch(new RegExp(`/${name.replace(/\/$/, '').replaceAll('.', '\\.')}$`));
  });

  test('shows commands that the command tree takes', async () => {
    const calls = pages.flatMap((page) => {
      const blocks = ['sh', 'sh runs', 'console', 'console story', 'powershell', 'crontab'].flatMap((kind) =>
        blocksOf(page, kind),
      );
      // In sentences, code without options only names a command, and the reader has to fill in … and
      // capitals.
      const spoken = [...page.prose.matchAll(/`(hooktrail [^`]* -[^`]*)`/g)]
        .map(([, text = '']) => text)
        .filter((text) => !/…|[A-Z]{4}/.test(text));
      return callsIn([...blocks.map((block) => block.replaceAll(/^\$ /gm, '')), ...spoken].join('\n'));
    });
    expect(calls.length).toBeGreaterThan(30);
    // A variable of the shell, which the line above it sets.
    const withId = (word: string) => (word === '$id' ? '0f8fad5b-d9cb-469f-a165-70867728950e' : word);
    for (const words of calls) expect(await commandFor(words.map(withId))).toMatch(/^hooktrail /);
  });

  test('runs npm scripts that exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
    const named = pages.flatMap(({ text }) =>
      [...text.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

test('every picture is shown on a page', async () => {
  const shown = pages.flatMap(linksOf).map(({ to }) => to);
  for (const picture of await readdir(path.join(root, 'docs/pictures')))
    if (/\.(svg|png)$/.test(picture)) expect(shown).toContain(`docs/pictures/${picture}`);
});

test('settings.md lists the variables that the help lists, scripting.md its exit codes', () => {
  // The help explains once that secrets may come from a file or a command.
  const names = (text: string) =>
    new Set(text.match(/\bHOOKTRAIL_[A-Z_]+/g)?.map((name) => name.replace(/_(FILE|COMMAND)$/, '')));
  expect(names(pageAt('docs/settings.md').text)).toEqual(names(topicText('environment')));
  const codes = (text: string, row: RegExp) =>
    [...text.matchAll(row)].flatMap(([, code = '']) => code.split(', '));
  expect(codes(pageAt('docs/scripting.md').text, /^\| (\d[\d, ]*) \|/gm)).toEqual(
    codes(topicText('exit-codes'), /^ {2}(\d+) {2}/gm),
  );
});
