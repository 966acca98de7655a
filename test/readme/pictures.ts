import { createHash } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { launchChromium } from '../support/chromium.ts';
import { screenLines } from './screen.ts';
import type { Stage } from './stage.ts';
import { terminalPicture } from './svg.ts';

export const folder = path.resolve(import.meta.dirname, 'pictures');

/** The pictures of a terminal, by the name of their file, and the command that each shows. */
export const terminals: Readonly<Record<string, string>> = {
  'search.svg': 'hooktrail events search --failed --since 2026-11-20 --until 2026-11-21 --limit 8',
  'stats.svg': 'hooktrail events stats --since 2026-11-20 --until 2026-11-21 --buckets 12',
};

/** What the table's columns need, and no more than a page of GitHub has. */
const COLUMNS = 104;

/** The terminal's picture: the command at its prompt, and all that it shows. */
export async function drawTerminal(stage: Stage, command: string): Promise<string> {
  const prompt = `\u001b[2m$\u001b[22m ${command}\r\n`;
  const lines = await screenLines(prompt + (await stage.draw(command, COLUMNS)), COLUMNS);
  return terminalPicture(lines, COLUMNS, command);
}

const REPORT = 'hooktrail events report failures.html --since 2026-11-20 --until 2026-11-21';

/** The report's page; when it was written is left to the fixed day that it tells of. */
export async function writeReport(stage: Stage): Promise<string> {
  await stage.print(REPORT);
  const page = await stage.read('failures.html');
  return page.replace(/(<dt>Generated<\/dt><dd>)\S+/, '$12026-11-21T10:00:00.000Z');
}

/** What tells one page from another: pixels differ between machines, the page does not. */
export function fingerprint(page: string): string {
  return `${createHash('sha256').update(page).digest('hex')}\n`;
}

/** The head of the report and its first two charts as Chromium shows them, as PNG. */
export async function photograph(file: string): Promise<Buffer> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 1600 }, colorScheme: 'light' });
    await page.goto(pathToFileURL(file).href);
    const types = await page.locator('section').nth(1).boundingBox();
    const height = Math.round(types!.y + types!.height + 24);
    return await page.screenshot({ clip: { x: 0, y: 0, width: 1200, height } });
  } finally {
    await browser.close();
  }
}
