import { createHash } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { launchChromium } from '../support/machine/chromium.ts';
import { screenLines } from './screen.ts';
import type { Stage } from './stage.ts';
import { terminalPicture } from './svg.ts';

export const folder = path.resolve(import.meta.dirname, '../../docs/pictures');

/** The terminal pictures by file name, and the commands that each shows, one below the other. */
export const terminals: Readonly<Record<string, readonly string[]>> = {
  'morning.svg': [
    'hooktrail events search --failed --since 2026-11-20T12:00 --limit 5',
    'hooktrail events explain --since 2026-11-20T12:00',
  ],
  'stats.svg': ['hooktrail events stats --since 2026-11-20 --until 2026-11-21 --buckets 12'],
};

/** Wide enough for the table's columns, and not wider than a page on GitHub. */
const COLUMNS = 116;

/** Draws the terminal: each command at its prompt, and its output. */
export async function drawTerminal(stage: Stage, commands: readonly string[]): Promise<string> {
  const shown: string[] = [];
  for (const command of commands)
    shown.push(`\u001b[2m$\u001b[22m ${command}\r\n${await stage.draw(command, COLUMNS)}`);
  const lines = await screenLines(shown.join('\r\n'), COLUMNS);
  return terminalPicture(lines, COLUMNS, commands.join(', then '));
}

const REPORT = 'hooktrail events report failures.html --since 2026-11-20 --until 2026-11-21';

/** Returns the report's page, in which the time of writing is replaced by a fixed day. */
export async function writeReport(stage: Stage): Promise<string> {
  await stage.print(REPORT);
  const page = await stage.read('failures.html');
  return page.replace(/(<dt>Generated<\/dt><dd>)[^<]*/, '$12026-11-21 10:00Z');
}

/** Returns a hash of the page: pixels differ between machines, the page does not. */
export function fingerprint(page: string): string {
  return `${createHash('sha256').update(page).digest('hex')}\n`;
}

/** Renders the head of the report and its first two charts in Chromium, as PNG. */
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
