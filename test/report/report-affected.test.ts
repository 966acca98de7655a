import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf } from '../support/searching.ts';
import { inShape } from '../support/shape.ts';
import { startReporting } from './reporting.ts';

const NAME_FIELD = 'customer.name';
let made = 0;
const event = (time: string, publishStatus: 'SUCCESS' | 'FAILED', name: string, subscriptionId: string) => ({
  eventId: `00000000-0000-4000-8000-${String(++made).padStart(12, '0')}`,
  eventType: 'document.signed',
  createdOn: `2026-11-${time}:00Z`,
  publishStatus,
  subscriptionId,
  customer: { name },
});
/** The week before is well. Then Harbour fails to the end, Hill fails once, and Mill never. */
const events = [
  ...['10T09:00', '11T09:00', '12T09:00'].map((time) => event(time, 'SUCCESS', 'Harbour Freight', 'a')),
  event('12T10:00', 'FAILED', 'Hill & Sons', 'b'),
  ...['17T09:00', '17T10:00'].map((time) => event(time, 'SUCCESS', 'Harbour Freight', 'a')),
  ...['18T09:00', '18T23:30', '19T00:30', '19T12:00'].map((time) =>
    event(time, 'FAILED', 'Harbour Freight', 'a'),
  ),
  event('18T08:00', 'FAILED', 'Hill & Sons', 'b'),
  ...['18T09:00', '18T10:00', '18T11:00'].map((time) => event(time, 'SUCCESS', 'Hill & Sons', 'b')),
  ...['18T09:00', '18T10:00', '18T11:00'].map((time) => event(time, 'SUCCESS', 'Mill', 'c')),
];
const WINDOW = ['--since', '2026-11-13T14:52', '--until', '2026-11-20T14:52'];

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
});
afterAll(() => home[Symbol.asyncDispose]());

/** The page of the stored events, with its text as people read it. */
async function pageOf(args: readonly string[], env: object = {}) {
  const page = path.join(home.folder, 'page.html');
  const command = ['events', 'report', page, '--from', file, ...WINDOW, ...args];
  const { code, stderr } = await hooktrail(command, { env: { ...home.env, ...env } });
  const html = code === 0 ? await readFile(page, 'utf8') : '';
  return { code, stderr, html, sectionOf: (title: string) => rowsOf(html, title) };
}

/** The cells of each row of a section's first table. */
function rowsOf(html: string, title: string): string[][] {
  const [, behind = ''] = html.split(`<h2>${title}</h2>`);
  const [table = ''] = behind.split('</table>');
  const rows = [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) => row);
  const textOf = (cell: string) => cell.replaceAll(/<[^>]*>/g, '').trim();
  return rows.map((row) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
  );
}

const named = { HOOKTRAIL_NAME_FIELD: NAME_FIELD };

describe('who is affected', () => {
  test('is counted by subscription, with who still fails at the end of the time', async () => {
    const { html, sectionOf } = await pageOf([]);
    expect(html).toContain(
      '<p class="lead">2 of 3 subscriptions affected, <strong>1 failing at the end of this period</strong>.</p>',
    );
    expect(sectionOf('By subscription')).toEqual([
      ['subscription', 'failed', 'events', 'rate', 'now', '0 to 100 %'],
      ['a', '4', '6', '66.7 %', 'failing since 2026-11-18 09:00Z', ''],
      ['b', '1', '4', '25.0 %', 'last failure 2026-11-18 08:00Z', ''],
    ]);
    expect(html).not.toContain('By customer');
  });

  test('is counted by customer where the settings say which field names one', async () => {
    const { html, sectionOf } = await pageOf([], named);
    expect(html).toContain(
      '<p class="lead">2 of 3 customers affected, <strong>1 failing at the end of this period</strong>.</p>',
    );
    expect(sectionOf('By customer')).toEqual([
      [NAME_FIELD, 'failed', 'events', 'rate', 'now', '0 to 100 %'],
      ['Harbour Freight', '4', '6', '66.7 %', 'failing since 2026-11-18 09:00Z', ''],
      ['Hill &amp; Sons', '1', '4', '25.0 %', 'last failure 2026-11-18 08:00Z', ''],
    ]);
    expect(sectionOf('By subscription').map(([who]) => who)).toEqual([
      'subscription',
      'Harbour Freight (a)',
      'Hill &amp; Sons (b)',
    ]);
    expect(html.match(/data-name="for"><bdi>[^<]*/g)).toEqual([
      ...Array(4).fill('data-name="for"><bdi>Harbour Freight'),
      'data-name="for"><bdi>Hill &amp; Sons',
    ]);
  });

  test('is chosen by words of its name among stored events', async () => {
    const { html, code } = await pageOf(['--subscription', 'hill'], named);
    expect({ code, isHill: html.includes('<strong>1 of 4 events failed</strong>') }).toEqual({
      code: 0,
      isHill: true,
    });
  });

  test('none is failing after two deliveries', async () => {
    const { html } = await pageOf(['--where', 'subscriptionId = b']);
    expect(html).toContain('<p class="lead">1 of 1 subscription affected, none failing at the end');
  });

  test('is said of the service by the addresses of its subscriptions, also of each failure', async () => {
    await using reporting = await startReporting({ events: 400 });
    expect((await reporting.report('--since', '30d')).code).toBe(0);
    const page = await reporting.page();
    expect(page).toMatch(/<p class="lead">\d+ of \d+ subscriptions affected, .*still failing/);
    const shown = [...page.matchAll(/data-name="(?:subscriptionId|address)"><bdi>([^<]*)/g)].map(
      ([, text]) => text,
    );
    const addresses = shown.filter((text) => text?.includes('harbour.example'));
    expect(addresses.length > 0).toBe(inShape({ flat: false, published: true }));
  });
});

describe('--baseline', () => {
  test('compares the whole, and each cause', async () => {
    const { html } = await pageOf(['--baseline', '7d', '--until', '2026-11-20']);
    expect(html).toContain('<p>Compared: a week earlier: 1 of 4 (25.0 %).</p>');
  });

  test('is refused where the events are read once', async () => {
    const args = ['events', 'report', '-', '--from', '-', '--baseline', '7d'];
    expect(await hooktrail(args, { env: home.env, stdin: '' })).toMatchObject({
      code: 2,
      stderr:
        'error: --baseline: standard input is read once, and the baseline has other events\nnext: write the events to a file and name that with --from\n',
    });
  });

  test('says of a cause how many of its events failed then', async () => {
    await using reporting = await startReporting({ events: 0 });
    for (let hour = 0; hour < 24; hour++)
      for (const [day, publishStatus] of [
        ['19', hour < 12 ? 'FAILED' : 'SUCCESS'],
        ['18', 'SUCCESS'],
      ] as const)
        reporting.sandbox.control.addEvent({
          createdOn: `2026-11-${day}T${String(hour).padStart(2, '0')}:00:00Z`,
          eventType: hour < 12 ? 'envelope.sent' : 'document.signed',
          publishStatus,
        });
    const day = ['--since', '2026-11-19', '--until', '2026-11-20', '--baseline', '1d'];
    expect((await reporting.report(...day)).code).toBe(0);
    const page = await reporting.page();
    expect(page).toContain('<p>Compared: a day earlier: 0 of 23 (0 %).</p>');
    const [, cause] = rowsOf(page, 'What failed events have in common');
    expect(cause?.[0]).toContain('new: 0 of 11 failed then');
    expect(cause?.slice(1)).toEqual(['100 %', '0 %', '11 of 11', '0 of 12 (0 %)']);
  });
});

describe('the page', () => {
  test('has the title that was given, as text', async () => {
    const { html } = await pageOf(['--title', ' Ticket <4711> ']);
    expect(html).toContain('<title>Ticket &lt;4711&gt;</title>');
    expect(html).toContain('<h1>Ticket &lt;4711&gt;</h1>');
    expect(html).toContain('<strong>5 of 13 events failed</strong>');
    expect((await pageOf(['--title', ' '])).stderr).toMatch(/^error: --title: the text is empty\n/);
  });

  test.each([
    ['UTC', [0, 0, 0, 0, 0, 3, 2, 0]],
    ['America/New_York', [0, 0, 0, 0, 0, 4, 1, 0]],
  ])('has whole days of the zone shown: %s', async (zone, failed) => {
    const { html } = await pageOf(['--buckets', '7', '--timezone', zone]);
    const [, numbers = ''] = html.split('<summary>Numbers</summary>');
    const [table = ''] = numbers.split('</table>');
    const rows = [
      ...table.matchAll(/<bdi>(\d\d-\d\d)(?: \(part\))?<\/bdi><\/td><td class="number"><bdi>(\d+)/g),
    ];
    expect(rows.map(([, day]) => day)).toEqual([
      '11-13',
      '11-14',
      '11-15',
      '11-16',
      '11-17',
      '11-18',
      '11-19',
      '11-20',
    ]);
    expect(rows.map(([, , number]) => Number(number))).toEqual(failed);
  });

  test('has a section of hours in the order of the clock', async () => {
    const { html } = await pageOf(['--by', 'createdOn:hour']);
    const [, section = ''] = html.split('<h2>Failures by createdOn:hour</h2>');
    const [table = ''] = section.split('</table>');
    const hours = [...table.matchAll(/<tr><td[^>]*><bdi>(\d+)<\/bdi>/g)].map(([, hour]) => Number(hour));
    expect(hours).toEqual(Array.from({ length: 24 }, (_, hour) => hour));
  });
});
