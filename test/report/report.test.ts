import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { hooktrail } from '../support/program.ts';
import { startReporting } from './reporting.ts';

const rows = (page: string) => [...page.matchAll(/<tr class="data">/g)].length;
const stats = async (env: Readonly<Record<string, string>>, ...args: string[]) =>
  JSON.parse((await hooktrail(['events', 'stats', '--json', ...args], { env })).stdout);

describe('a report', () => {
  test("shows the service's counts, and contains the latest failures", async () => {
    await using reporting = await startReporting({ events: 1000 });
    const { code, stdout, stderr } = await reporting.report('--since', '30d', '--limit', '20');
    const page = await reporting.page();
    const { total, failed, types } = await stats(reporting.env, '--since', '30d');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toBe(`wrote ${reporting.file}: ${failed} failures, 20 of them shown\n`);
    expect(page).toContain(`<strong>${failed} of ${total.toLocaleString('en-US')} events failed</strong>`);
    expect(page).toContain(`The latest 20 of ${failed}; --limit shows more.`);
    expect(rows(page)).toBe(20);
    for (const { eventType, failed: number } of types.filter((type: { failed: number }) => type.failed > 0)) {
      expect(page).toContain(
        `<td class="text"><bdi>${eventType}</bdi></td><td class="number"><bdi>${number}</bdi></td>`,
      );
    }
    const search = ['--failed', '--since', '30d', '--limit', '20', '--fields', 'eventId', '--csv'];
    const latest = (await reporting.search(...search)).stdout.trim().split('\r\n').slice(1);
    expect([...page.matchAll(/data-name="eventId"><bdi>([^<]*)</g)].map(([, id]) => id)).toEqual(latest);
  });

  test('counts all failures by subscription if the events name it', async () => {
    await using reporting = await startReporting({ events: 600 });
    await reporting.report('--since', '30d', '--limit', '5');
    const page = await reporting.page();
    const section = page.slice(page.indexOf('<h2>By subscription'), page.indexOf('<h2>Latest'));
    const numbers = [
      ...section.matchAll(
        /<td class="text"><bdi>([^<]*)<\/bdi><\/td><td class="number" data-name="failed"><bdi>([\d,]+)</g,
      ),
    ].map(([, name, number]) => [name, Number(number?.replaceAll(',', ''))] as const);
    const { failed } = await stats(reporting.env, '--since', '30d');
    expect(numbers.reduce((sum, [, number]) => sum + number, 0)).toBe(failed);
    for (const [id, number] of numbers) {
      if (id === '(others)') continue;
      const count = ['events', 'count', '--failed', '--since', '30d', '--subscription', id as string];
      expect((await hooktrail(count, reporting)).stdout).toBe(`${number}\n`);
    }
  });

  test('shows filters, window, host and version', async () => {
    await using reporting = await startReporting({ events: 100 });
    const filters = ['--after', '2026-01-01', '--before', '2026-01-02', '--failed', '--type', '<b>&"'];
    expect((await reporting.report(...filters)).code).toBe(0);
    const page = await reporting.page();
    expect(page).toContain(`<title>No events, ${new URL(reporting.sandbox.settings.baseUrl).host}</title>`);
    expect(page).toContain('<dd>2026-01-01 00:00Z to 2026-01-02 00:00Z (UTC)</dd>');
    expect(page).toContain('<dd>--status FAILED --type &lt;b&gt;&amp;&quot;</dd>');
    expect(page).toMatch(new RegExp(`<dd>20\\d\\d-\\S+ \\S+Z by hooktrail ${version}</dd>`));
    expect(page).toContain('No events in this period.');
    expect(page).not.toContain('<script>');
  });

  test('says if there are no failures', async () => {
    await using reporting = await startReporting({ events: 0 });
    reporting.sandbox.control.addEvent();
    const { stderr } = await reporting.report();
    expect(stderr).toBe(`wrote ${reporting.file}: 0 failures\n`);
    expect(await reporting.page()).toContain('No failed deliveries: the one event was delivered.');
  });

  test('of a service without counts has all of it', async () => {
    await using reporting = await startReporting({ events: 500 });
    reporting.sandbox.control.behaviour.omit = ['count'];
    expect((await reporting.report('--since', '30d', '--limit', '3')).code).toBe(0);
    const page = await reporting.page();
    expect(page).toContain('of 500 events failed</strong>');
    expect([rows(page), page.includes('<svg')]).toEqual([3, true]);
  });

  test('of events without known fields shows the fields they have', async () => {
    await using reporting = await startReporting({ events: 0 });
    const json = '{"a":1.10,"b":{"c":[9007199254740993]},"d":null}';
    reporting.sandbox.control.addEvent({ publishStatus: 'FAILED', json });
    reporting.sandbox.control.addEvent({ publishStatus: 'FAILED', json: '"bare"' });
    expect((await reporting.report()).code).toBe(0);
    const page = await reporting.page();
    expect(page).toContain('data-name="a"><bdi>1.10</bdi>');
    expect(page).toContain('9007199254740993');
    expect(page).toContain('<pre>&quot;bare&quot;</pre>');
  });

  test('shows the latest failures also among some that do not say when they were created', async () => {
    await using reporting = await startReporting({ events: 0 });
    for (const hour of ['07', '', '08', '', '09', ''])
      reporting.sandbox.control.addEvent({
        publishStatus: 'FAILED',
        json: `{"publishStatus":"FAILED","createdOn":${hour ? `"2026-11-20T${hour}:00:00Z"` : 'null'}}`,
      });
    expect((await reporting.report('--since', '30d', '--limit', '3')).code).toBe(0);
    const page = await reporting.page();
    expect(
      [...page.matchAll(/data-name="createdOn"><bdi>([^<]*)</g)].map(([, time]) => time?.slice(11, 13)),
    ).toEqual(['09', '08', '07']);
  });

  test('goes to standard output for -', async () => {
    await using reporting = await startReporting({ events: 10 });
    const { code, stdout, stderr } = await hooktrail(['events', 'report', '-', '--since', '30d'], reporting);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^<!doctype html>\n[\s\S]*<\/html>\n$/);
  });

  test('has a file whose name is not empty, as that of a variable that is not set', async () => {
    await using reporting = await startReporting({ events: 10 });
    expect(await hooktrail(['events', 'report', ''], reporting)).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: 'error: <file>: the name of the file is empty\n',
    });
  });

  test('replaces a file at once and leaves nothing beside it', async () => {
    await using reporting = await startReporting({ events: 10 });
    await writeFile(reporting.file, 'old');
    reporting.sandbox.control.fault('events', ...Array(5).fill({ kind: 'status', status: 400 }));
    expect((await reporting.report()).code).toBe(1);
    expect(await reporting.page()).toBe('old');
    reporting.sandbox.control.clearFaults();
    expect((await reporting.report()).code).toBe(0);
    expect(await reporting.page()).toMatch(/^<!doctype html>/);
    const { dir, base } = path.parse(reporting.file);
    expect((await readdir(dir)).filter((name) => name !== 'config')).toEqual([base]);
  });
});

describe('--open', () => {
  test('shows the page by its file URL', async () => {
    await using reporting = await startReporting({ events: 10 });
    const opened = path.join(reporting.env['HOME'] as string, 'opened');
    const command = path.join(reporting.env['HOME'] as string, 'browser');
    const script = `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`;
    await writeFile(command, script, { mode: 0o755 });
    const env = { ...reporting.env, HOOKTRAIL_BROWSER: command };
    expect((await hooktrail(['events', 'report', reporting.file, '--open'], { env })).code).toBe(0);
    await expect.poll(() => readFile(opened, 'utf8').catch(() => '')).not.toBe('');
    const url = await readFile(opened, 'utf8');
    expect(url).toBe(pathToFileURL(reporting.file).href);
    expect(url).toMatch(/\/report%20%231%20%C3%BC\.html$/);
  });

  test('that cannot start a browser leaves the page and says where it is', async () => {
    await using reporting = await startReporting({ events: 10 });
    const env = { ...reporting.env, HOOKTRAIL_BROWSER: '/nowhere/browser' };
    const { code, stderr } = await hooktrail(['events', 'report', reporting.file, '--open'], { env });
    expect(code).toBe(0);
    expect(stderr).toContain(`; open ${pathToFileURL(reporting.file).href} yourself\n`);
  });
});
