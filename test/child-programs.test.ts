import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openBrowser } from '../src/child-programs.ts';
import { forEachTest } from './support/each-test.ts';
import { createHome } from './support/home.ts';

const at = forEachTest(createHome);
const url = new URL('https://id.example/authorize?a=b&c=$&');

test.each<[string, (file: string) => string]>([
  ['a program', (file) => file],
  ['a program in quotes', (file) => `"${file}"`],
  ['a program with %s', (file) => `'${file}' %s`],
  ['a program with "%s"', (file) => `"${file}" "%s"`],
  ['a list whose first program is missing', (file) => `no-such-browser:"${file}" %s`],
  ['a list whose first program fails', (file) => `false %s:${file}`],
])('$BROWSER may be %s, whose path has a space', async (_, value) => {
  const folder = path.join(at.folder, 'my apps');
  await mkdir(folder);
  const file = path.join(folder, 'browser');
  const opened = path.join(at.folder, 'opened');
  await writeFile(file, `#!/bin/sh\nprintf '%s\\n' "$@" > '${opened}'\n`);
  await chmod(file, 0o755);
  await openBrowser(url, undefined, process.env, { platform: 'linux' }, value(file));
  expect(await readFile(opened, 'utf8')).toBe(`${url.href}\n`);
});

test('a $BROWSER none of whose programs can be run is an error', async () => {
  const opening = openBrowser(url, undefined, process.env, { platform: 'linux' }, 'no-such-a:no-such-b');
  await expect(opening).rejects.toThrow('no-such-b');
});
