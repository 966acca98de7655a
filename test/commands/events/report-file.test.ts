import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { hooktrail } from '../../support/program.ts';
import { startReporting } from '../../support/searching.ts';

test.skipIf(process.platform === 'win32')(
  'a device or pipe is written to, not replaced by a file',
  async () => {
    await using reporting = await startReporting({ events: 5 });
    const pipe = path.join(reporting.env['HOME'] as string, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = spawn('cat', [pipe]);
    let page = '';
    reader.stdout.setEncoding('utf8').on('data', (text: string) => {
      page += text;
    });
    const ended = once(reader, 'close');
    try {
      expect((await hooktrail(['events', 'report', pipe], reporting)).code).toBe(0);
      expect((await lstat(pipe)).isFIFO()).toBe(true);
      await ended;
      expect(page).toMatch(/^<!doctype html>.*<\/html>\s*$/s);
    } finally {
      reader.kill();
    }
  },
);

test.skipIf(process.platform === 'win32')('a link is kept, and its target is replaced', async () => {
  await using reporting = await startReporting({ events: 5 });
  const link = path.join(reporting.env['HOME'] as string, 'link.html');
  await writeFile(reporting.file, 'old');
  await symlink(reporting.file, link);
  expect((await hooktrail(['events', 'report', link], reporting)).code).toBe(0);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect(await readFile(reporting.file, 'utf8')).toMatch(/^<!doctype html>/);
});
