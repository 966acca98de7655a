import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startHandler } from '../support/handler.ts';
import { binFolder } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { startSearching, valuesIn } from '../support/searching.ts';
import { blocksOf, readPages } from './pages.ts';

const pages = await readPages();
const page = pages.find(({ file }) => file === 'docs/alerting.md')!;
const team = pages.find(({ file }) => file === 'docs/team.md')!;
const lines = blocksOf(page, 'sh');
const linesWith = (text: string) => lines.find((block) => block.includes(text)) ?? `exit 99 # no ${text}`;
const unit = blocksOf(page, 'ini').join('');
const startOfUnit = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit)?.[1] ?? 'exit 99';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';

/** Runs lines of the page, with receivers on this machine, for a subscription that fails. */
async function runAlarm(block: string) {
  const at = await startSearching({ events: 0 });
  const handler = await startHandler();
  const home = at.env['HOME'] as string;
  const bin = await binFolder(home, inject('program'));
  const folder = path.join(home, 'textfile_collector');
  await mkdir(folder);
  const mail = path.join(home, 'mail.txt');
  const record = `#!/bin/sh\n{ echo "$@"; cat; } >> '${mail}'\n`;
  await writeFile(path.join(bin, 'mail'), record, { mode: 0o755 });
  await writeFile(path.join(bin, 'deliveries-alarm'), record, { mode: 0o755 });
  const script = block
    .replace('--watch', '--watch --interval 1s')
    .replace(/https?:\/\/\S+\.(example\.com|pagerduty\.com)\S*/, handler.url)
    .replace('/var/lib/node_exporter/textfile_collector', folder)
    .replaceAll('/usr/local/bin', bin)
    .replace('/var/lib/hooktrail', home);
  const add = (marks: string, ageMs = 0) => {
    for (const [place, mark] of [...marks].entries()) {
      const createdOn = new Date(clock.now() - ageMs - (marks.length - place) * 10).toISOString();
      const publishStatus = mark === 'F' ? 'FAILED' : 'SUCCESS';
      at.control.addEvent({ subscriptionId: ID, publishStatus, createdOn });
    }
  };
  clock.run();
  // `--until now` ends with the service's last whole second.
  add('FFF', 2000);
  const env = { ...at.env, ...clock.environment, PATH: `${bin}:/usr/bin:/bin` };
  const program = spawn('sh', ['-ec', script], {
    env,
    cwd: home,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  program.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  // The shell may end before the programs that it started: the last of them closes the pipe.
  const ended = once(program, 'close');
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  return {
    add,
    printed: () => printed,
    ended,
    mailed: () => read(mail),
    metrics: () => read(path.join(folder, `hooktrail-${ID}.prom`)),
    posted: () => handler.received.map(({ body }) => JSON.parse(body.toString())),
    async [Symbol.asyncDispose]() {
      if (program.exitCode === null) process.kill(-program.pid!, 'SIGTERM');
      await ended;
      await handler[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

const posts = {
  'chat.example.com': [
    { text: expect.stringMatching(/^failing: /) },
    { text: expect.stringMatching(/^recovered: /) },
  ],
  'pagerduty.com': [
    { dedup_key: ID, event_action: 'trigger', payload: { source: ID, severity: 'error' } },
    { dedup_key: ID, event_action: 'resolve' },
  ],
  'alertmanager.example.com': [
    [{ labels: { alertname: 'Deliveries', subscription: ID }, endsAt: expect.stringMatching(/Z$/) }],
    [{ labels: { alertname: 'Deliveries', subscription: ID }, endsAt: expect.stringMatching(/Z$/) }],
  ],
};

test.skipIf(!available('curl')).each(Object.entries(posts))(
  'the lines for %s post a failure and its end',
  async (host, expected) => {
    await using alarm = await runAlarm(linesWith(host));
    await expect.poll(alarm.posted).toHaveLength(1);
    alarm.add('SS');
    await expect.poll(alarm.posted).toHaveLength(2);
    expect(alarm.posted()).toMatchObject(expected);
  },
);

test('the lines for mail send a failure and its end', async () => {
  await using alarm = await runAlarm(linesWith('mail -s'));
  await expect.poll(alarm.mailed).toMatch(/^-s deliveries: failing ops@example\.com\nfailing: [^\n]*\n/);
  alarm.add('SS');
  await expect.poll(alarm.mailed).toMatch(/\n-s deliveries: recovered ops@example\.com\nrecovered: /);
});

test('the lines for node_exporter replace the file of the subscription', async () => {
  await using alarm = await runAlarm(linesWith('textfile_collector'));
  await expect.poll(alarm.metrics).toBe(`hooktrail_alarm{subscription="${ID}"} 1\n`);
  alarm.add('SS');
  await expect.poll(alarm.metrics).toBe(`hooktrail_alarm{subscription="${ID}"} 0\n`);
});

test('the line to try it prints what is wrong now, with the members of the table, and ends', async () => {
  await using alarm = await runAlarm(linesWith('--until now'));
  expect(await alarm.ended).toEqual([0, null]);
  const [change, another] = valuesIn<Record<string, unknown>>(alarm.printed());
  expect([change, another]).toMatchObject([{ change: 'failing', value: ID }, undefined]);
  const table = [...page.text.matchAll(/^\| (`\w.*?`) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/\w+/g) ?? [],
  );
  expect(table.filter((member) => !(member in (change ?? {})))).toEqual([]);
  expect(table).toEqual(expect.arrayContaining(['change', 'since', 'run', 'next']));
});

test('the unit is restricted as the listener of the page for teams is', () => {
  const restrictions = (text: string) => text.match(/^(No|Protect|Private|User|State|Environment)\w*=.*$/gm);
  const listener = blocksOf(team, 'ini').find((text) => text.includes('webhooks listen')) ?? '';
  expect(restrictions(listener)?.length).toBeGreaterThan(6);
  expect(restrictions(unit)).toEqual(restrictions(listener));
});

test('the command of the unit hands changes to the script', async () => {
  await using alarm = await runAlarm(startOfUnit);
  await expect.poll(alarm.mailed).toContain('"change":"failing"');
});
