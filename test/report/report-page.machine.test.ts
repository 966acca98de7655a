import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { hasChromium, launchChromium, watchPage } from '../support/machine/chromium.ts';
import { type Reporting, startReporting } from './reporting.ts';

const hostile = [
  '</script><script>window.ran=1</script>',
  ']]></style><svg onload="window.ran=1">',
  'javascript:window.ran=1',
  `"' onmouseover="window.ran=1" x='`,
  '<img src=x onerror=window.ran=1><style>*{display:none}</style>',
  '\u202egnp.exe \u05e9\u05dc\u05d5\u05dd',
  'x'.repeat(10_000),
  '🚨👩‍👩‍👧 urgent 緊急 &amp; {a|b}\n{b}',
];
/** The ids of their events begin with it. */
const HOSTILE_ID = '00000000-0000-4000-8000-00000000000';
const minutesAgo = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString();

describe.skipIf(!hasChromium)('the page in Chromium', () => {
  let browser: Browser;
  let reporting: Reporting;
  beforeAll(async () => {
    browser = await launchChromium();
    reporting = await startReporting({ events: 400 });
    for (const [index, text] of hostile.entries()) {
      const eventId = `${HOSTILE_ID}${index}`;
      const members = { eventId, eventType: text, createdOn: minutesAgo(index + 2), publishStatus: 'FAILED' };
      const json = JSON.stringify({ ...members, subscriptionId: text, [text]: { url: text } });
      const { createdOn } = members;
      reporting.sandbox.control.addEvent({ eventId, createdOn, publishStatus: 'FAILED', json });
    }
    const { code } = await reporting.report('--since', '30d', '--buckets', '30');
    expect(code).toBe(0);
  });
  afterAll(async () => {
    await browser.close();
    await reporting[Symbol.asyncDispose]();
  });

  const open = async (options: Parameters<Browser['newPage']>[0] = {}) => {
    const page = await browser.newPage(options);
    const seen = watchPage(page);
    const url = pathToFileURL(reporting.file).href;
    await page.goto(url);
    return { page, seen, url };
  };
  const ids = (page: Page) =>
    page.locator('table.events tbody:visible td[data-name="eventId"]').allTextContents();

  test('uses no network, violates no policy and runs no script from the data', async () => {
    const { page, seen, url } = await open();
    for (const summary of await page.locator('summary').all()) await summary.click();
    const rows = page.locator('tbody', { hasText: HOSTILE_ID });
    expect(await rows.count()).toBe(hostile.length);
    for (const cell of await rows.locator('tr.data td').all())
      await cell.hover({ force: true, timeout: 2000 });
    expect(seen).toEqual({ requests: [url], errors: [] });
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(await page.locator('script, img, iframe, a, link, [onload], [onmouseover], [style]').count()).toBe(
      1,
    );
    const policy = await page.locator('meta[http-equiv]').getAttribute('content');
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'$/,
    );
    await page.close();
  });

  test('shows hostile texts unchanged, with visible control characters', async () => {
    const { page } = await open();
    const cells = await page.locator('td[data-name="eventType"]').allTextContents();
    for (const text of [0, 1, 2, 3, 4].map((index) => hostile[index])) expect(cells).toContain(text);
    expect(cells).toContain('\\u202egnp.exe \u05e9\u05dc\u05d5\u05dd');
    expect(cells).toContain(`${'x'.repeat(119)}…`);
    const json = await page
      .locator('tbody', { hasText: hostile[0] as string })
      .locator('pre')
      .textContent();
    expect(JSON.parse(json as string)).toMatchObject({ eventType: hostile[0] });
    const long = await page.locator('tbody', { hasText: 'xxxx' }).locator('pre').textContent();
    expect(JSON.parse(long as string)).toMatchObject({ eventType: hostile[6] });
    await page.close();
  });

  test('can be sorted by keyboard and says by which column', async () => {
    const { page } = await open();
    const head = page.locator('th', { hasText: 'eventId' });
    expect(await page.locator('th[aria-sort]').allTextContents()).toEqual(['createdOn']);
    await page.locator('#filter').focus();
    for (let presses = 0; presses < 9; presses++) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.textContent')) === 'eventId') break;
    }
    await page.keyboard.press('Enter');
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    const ascending = await ids(page);
    expect(ascending).toEqual([...ascending].sort());
    await page.keyboard.press('Space');
    expect(await head.getAttribute('aria-sort')).toBe('descending');
    expect(await ids(page)).toEqual(ascending.reverse());
    expect(await page.locator('th[aria-sort]').count()).toBe(1);
    // Each event's JSON moves with its row.
    const first = page.locator('table.events tbody').first();
    expect(await first.locator('pre').textContent()).toContain(ascending[0]);
    await page.close();
  });

  test('has one line a row, and its JSON opens below it', async () => {
    const { page } = await open();
    const row = page.locator('table.events tbody', { hasText: 'urgent' });
    const json = row.locator('pre');
    expect(await json.isVisible()).toBe(false);
    await row.locator('summary').click();
    expect(await json.isVisible()).toBe(true);
    await page.close();
  });

  test('filters as the user types and says how many are left', async () => {
    const { page } = await open();
    const all = (await ids(page)).length;
    const status = page.locator('[role=status]');
    expect(await status.textContent()).toBe(`${all} events`);
    await page.locator('#filter').pressSequentially('URGENT 緊急');
    await expect.poll(() => status.textContent()).toBe(`1 of ${all} events`);
    expect(await ids(page)).toEqual(['00000000-0000-4000-8000-000000000007']);
    await page.keyboard.press('Escape');
    expect(await ids(page)).toHaveLength(all);
    await page.locator('#filter').fill('no such text');
    await expect.poll(() => status.textContent()).toBe(`0 of ${all} events`);
    await page.close();
  });

  test('is complete without JavaScript', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect((await ids(page)).length).toBeGreaterThan(8);
    expect(await page.locator('.controls').isVisible()).toBe(false);
    expect(await page.locator('th button').count()).toBe(0);
    expect(await page.locator('svg[role=img]:visible').count()).toBe(1);
    expect(await page.locator('table.figures:visible').count()).toBe(3);
    await page.close();
  });

  test('has the figures of the scale beside the bars, and none under them', async () => {
    for (const width of [400, 1200]) {
      const { page } = await open({ viewport: { width, height: 800 } });
      const ends = await page.evaluate<{ scale: number; bars: number }>(`({
        scale: Math.max(...[...document.querySelectorAll('.scale text')].map((text) => text.getBoundingClientRect().right)),
        bars: Math.min(...[...document.querySelectorAll('.chart [role=img] rect')].map((bar) => bar.getBoundingClientRect().left)),
      })`);
      expect(ends.scale).toBeGreaterThan(20);
      expect(ends.scale).toBeLessThan(ends.bars);
      await page.close();
    }
  });

  test('has causes as cards on a phone, each figure with its name, and no higher than its lines', async () => {
    const { page } = await open({ viewport: { width: 400, height: 800 } });
    const looks = await page.evaluate<{ width: number; empty: number; names: string[] }>(
      `(() => {
        const card = document.querySelector('.causes tbody tr');
        const cells = [...card.cells];
        const lines = cells.flatMap((cell) => [...cell.children].length > 0 ? [...cell.children] : [cell]);
        const heights = lines.reduce((sum, line) => sum + line.getBoundingClientRect().height, 0);
        return {
          width: card.getBoundingClientRect().width,
          empty: card.getBoundingClientRect().height - heights,
          names: cells.slice(1).map((cell) => getComputedStyle(cell, '::before').content),
        };
      })()`,
    );
    expect(looks.width).toBeLessThanOrEqual(400);
    expect(looks.empty).toBeLessThan(40);
    expect(looks.names).toEqual(['"of failures"', '"of delivered"', '"fail with it"', '"without it"']);
    await page.close();
  });

  test.each([
    ['phone', 390],
    ['desktop', 1280],
  ])('fits a %s, in a light and a dark scheme', async (_, width) => {
    const { page } = await open({ viewport: { width, height: 800 }, colorScheme: 'light' });
    const look = () =>
      page.evaluate<{ width: number; paper: string; bar: string }>(`({
        width: document.documentElement.scrollWidth,
        paper: getComputedStyle(document.body).backgroundColor,
        bar: getComputedStyle(document.querySelector('svg [fill="var(--failed)"]')).fill,
      })`);
    const light = await look();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await look();
    expect([light.width, dark.width]).toEqual([width, width]);
    expect([light.paper, dark.paper]).toEqual(['rgb(255, 255, 255)', 'rgb(13, 17, 23)']);
    expect([light.bar, dark.bar]).toEqual(['rgb(201, 60, 55)', 'rgb(255, 123, 114)']);
    expect((await page.locator('td.bar:visible').count()) > 0).toBe(width > 640);
    await page.close();
  });
});
