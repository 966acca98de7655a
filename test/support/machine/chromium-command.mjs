#!/usr/bin/env node
// The HOOKTRAIL_BROWSER of tests with a real browser: opens its one argument in Chromium, presses the button
// that CHROMIUM_PRESSES names, and writes what it saw in the end as JSON to the file CHROMIUM_REPORT.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const { CHROMIUM_PATH, CHROMIUM_PRESSES, CHROMIUM_REPORT, CHROMIUM_SCREENSHOT } = process.env;
const profile = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-chromium-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: CHROMIUM_PATH,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  const page = await browser.newPage();
  const complaints = [];
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto(process.argv[2]);
  await page.getByRole('button', { name: CHROMIUM_PRESSES }).click();
  await page.getByText('hooktrail', { exact: true }).waitFor();
  if (CHROMIUM_SCREENSHOT) await page.screenshot({ path: CHROMIUM_SCREENSHOT });
  const heading = await page.getByRole('heading').textContent();
  await writeFile(CHROMIUM_REPORT, JSON.stringify({ heading, complaints, title: await page.title() }));
} catch (error) {
  await writeFile(CHROMIUM_REPORT, JSON.stringify({ error: String(error) }));
} finally {
  await browser.close();
  await rm(profile, { recursive: true, force: true });
}
