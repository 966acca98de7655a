import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { binFolder, createHome, type Home } from '../support/home.ts';
import type { Fault } from '../support/sandbox.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';
import { startSigningIn } from '../support/signing-in.ts';
import { blocksOf, readPages } from './pages.ts';

const pages = await readPages();
const pageAt = (name: string) => pages.find(({ file }) => file === `docs/${name}`)!;
const blockWith = (name: string, kind: string, start: string) =>
  blocksOf(pageAt(name), kind).find((text) => text.startsWith(start)) ?? `exit 99 # ${name}: no ${start}`;

/**
 * The environment of a reader's shell, PATH and HOME; the other variables keep the test's clock and folders
 * apart.
 */
async function bareEnvironment({ folder, env }: Home): Promise<Record<string, string>> {
  clock.run();
  const { NODE_OPTIONS = '', HOOKTRAIL_TEST_HOME = '', HOOKTRAIL_TEST_SHARED = '' } = env;
  const apart = { NODE_OPTIONS, HOOKTRAIL_TEST_HOME, HOOKTRAIL_TEST_SHARED, ...clock.environment };
  return { PATH: `${await binFolder(folder, inject('program'))}:/usr/bin:/bin`, HOME: folder, ...apart };
}

test.each(blocksOf(pageAt('sandbox.md'), 'sh runs'))(
  'these lines of sandbox.md run on a machine that has nothing but them: %s',
  { timeout: 60_000 },
  async (lines) => {
    await using home = await createHome();
    const env = await bareEnvironment(home);
    // A sandbox that outlives a line that fails (a port that is taken) would keep the test from saying so.
    const script = `trap 'kill $! 2> /dev/null || :' EXIT\n${lines}`;
    const { stdout } = await promisify(execFile)('sh', ['-ec', script], { env, cwd: home.folder });
    expect(stdout).toMatch(/^createdOn .*\n(.* FAILED .*\n)+$/);
  },
);

/** Runs the script for cron as cron does, and a `mail` that records its input and ends with the exit code. */
async function runAsCron(home: Home, mailCode = 0): Promise<{ printed: string; mail: string }> {
  const bin = await binFolder(home.folder, inject('program'));
  const mail = path.join(home.folder, 'mail.txt');
  await writeFile(path.join(bin, 'mail'), `#!/bin/sh\n{ echo "$@"; cat; } > '${mail}'\nexit ${mailCode}\n`, {
    mode: 0o755,
  });
  await writeFile(mail, '');
  const file = path.join(bin, 'failed-deliveries');
  // The reader has to fill in where the programs are.
  const script = blockWith('scripting.md', 'sh', '#!/bin/sh').replace('/usr/local/bin:', `${bin}:`);
  await writeFile(file, script, { mode: 0o755 });
  const env = { ...(await bareEnvironment(home)), PATH: '/usr/bin:/bin', SHELL: '/bin/sh' };
  const printed = await new Promise<string>((resolve) => {
    execFile(file, { env, cwd: home.folder }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
  return { printed, mail: await readFile(mail, 'utf8') };
}

test('the script for cron mails each failure once, is silent without any, and shows that the check failed', {
  timeout: 60_000,
}, async () => {
  await using at = await startSigningIn({ events: 0 });
  const { sandbox, home } = at;
  const { authUrl, baseUrl, clientId, clientSecret, vendor } = sandbox.settings;
  const service = `--auth-url ${authUrl} --base-url ${baseUrl} --client-id ${clientId} --vendor ${vendor}`;
  const lines = `${blockWith('scripting.md', 'sh', 'hooktrail keygen ').trim()} ${service} --redirect-uri ${at.redirectUri}`;
  const env = {
    ...(await bareEnvironment(home)),
    HOOKTRAIL_CLIENT_SECRET: clientSecret,
    HOOKTRAIL_BROWSER: browserCommand,
  };
  await promisify(execFile)('sh', ['-ec', lines], { env, cwd: home.folder });
  expect(await runAsCron(home)).toEqual({ printed: '', mail: '' });

  const eventId = '61da9926-7c98-4928-81bb-5f216b36f603';
  const createdOn = new Date(clock.now()).toISOString();
  const json = JSON.stringify({ eventId, createdOn, publishStatus: 'FAILED', eventType: 'a' });
  sandbox.control.addEvent({ eventId, createdOn, publishStatus: 'FAILED', json });
  // The service's clock is known to the second, and the run reads what is older than that.
  clock.advance(5_000);
  const failed = await runAsCron(home);
  expect(failed.printed).toBe('');
  expect(failed.mail).toMatch(/^-s failed deliveries ops@example\.com\n/);
  expect(failed.mail).toContain(eventId);
  expect(await runAsCron(home)).toEqual({ printed: '', mail: '' });

  const unsent = sandbox.control.addEvent({ publishStatus: 'FAILED' }).eventId;
  clock.advance(5_000);
  expect((await runAsCron(home, 1)).printed).toContain(unsent);

  const forbidden: Fault = { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' };
  sandbox.control.fault('events', forbidden);
  const blind = await runAsCron(home);
  expect(blind.mail).toBe('');
  expect(blind.printed).toMatch(/^error: .*403 Forbidden\n/);

  // Events that came before the error count as printed, so they have to be mailed.
  for (let added = 0; added <= 500; added++) sandbox.control.addEvent({ publishStatus: 'FAILED' });
  clock.advance(5_000);
  sandbox.control.fault('events', { kind: 'pass' }, { kind: 'pass' }, forbidden);
  const half = await runAsCron(home);
  expect(half.mail.match(/FAILED/g)).toHaveLength(500);
  expect(half.printed).toMatch(/^error: .*403 Forbidden\n/);
});

/** The samples of Prometheus' text format: `name{labels} value`, with nothing but comments between them. */
function samplesOf(text: string): { name: string; labels: Record<string, string>; value: number }[] {
  expect(text).toMatch(/\n$/);
  const lines = text.trimEnd().split('\n');
  return lines.flatMap((line) => {
    if (/^# (HELP|TYPE) [a-z_]+ \S/.test(line)) return [];
    const [, name, labels, value] =
      /^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+)$/.exec(line) ?? [];
    if (name === undefined || labels === undefined) throw new Error(`no sample: ${line}`);
    const pairs = [...labels.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)];
    return [
      { name, labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])), value: Number(value) },
    ];
  });
}

test('the script for Prometheus writes each subscription, and leaves the file as it is when the check fails', {
  timeout: 60_000,
}, async () => {
  await using at = await startSigningIn({ events: 0 });
  const { sandbox, home } = at;
  const ids = { well: 'a"b\\c', failing: '22284310-c2cd-4a3e-a9e8-1d7b8995da7f' };
  const add = (subscriptionId: string, publishStatus: 'FAILED' | 'SUCCESS', minutes: number) => {
    const createdOn = new Date(clock.now() - minutes * 60_000).toISOString();
    const json = JSON.stringify({ eventId: `${made++}`, subscriptionId, publishStatus, createdOn });
    sandbox.control.addEvent({ subscriptionId, publishStatus, createdOn, json });
  };
  let made = 0;
  for (const minutes of [30, 20, 10]) add(ids.failing, minutes > 20 ? 'SUCCESS' : 'FAILED', minutes);
  for (const minutes of [9, 8]) add(ids.well, 'SUCCESS', minutes);
  const script = path.join(home.folder, 'hooktrail-metrics');
  const bin = await binFolder(home.folder, inject('program'));
  const source = blockWith('scripting.md', 'sh', '#!/bin/sh\n# hooktrail-metrics').replace(
    '/usr/local/bin:',
    `${bin}:`,
  );
  // The reader is signed in by a key; the test has a token.
  await writeFile(script, source.replace(/^export HOOKTRAIL_PASSPHRASE_FILE.*\n/m, ''), { mode: 0o755 });
  const env = {
    ...(await bareEnvironment(home)),
    HOOKTRAIL_BASE_URL: sandbox.settings.baseUrl,
    HOOKTRAIL_VENDOR: sandbox.settings.vendor,
    HOOKTRAIL_ACCESS_TOKEN: await accessTokenOf(sandbox),
  };
  const folder = path.join(home.folder, 'textfile');
  await mkdir(folder);
  const run = () => promisify(execFile)('sh', [script, folder], { env, cwd: home.folder });
  expect(await run()).toEqual({ stdout: '', stderr: '' });
  const written = await readFile(path.join(folder, 'hooktrail.prom'), 'utf8');
  const samples = samplesOf(written).filter(({ labels }) =>
    Object.values(ids)
      .map(escapedLabel)
      .includes(labels['subscription'] ?? ''),
  );
  expect(samples.map(({ name, labels, value }) => [name, labels['subscription'], value])).toEqual([
    ['hooktrail_failing', ids.failing, 1],
    ['hooktrail_failing', 'a\\"b\\\\c', 0],
    ['hooktrail_silent', ids.failing, 0],
    ['hooktrail_silent', 'a\\"b\\\\c', 0],
    ['hooktrail_events', ids.failing, 3],
    ['hooktrail_events', 'a\\"b\\\\c', 2],
    ['hooktrail_failed_events', ids.failing, 2],
    ['hooktrail_failed_events', 'a\\"b\\\\c', 0],
  ]);
  sandbox.control.fault('events', { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' });
  await expect(run()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('403 Forbidden') });
  expect(await readFile(path.join(folder, 'hooktrail.prom'), 'utf8')).toBe(written);
  expect(await readdir(folder)).toEqual(['hooktrail.prom']);
});

/** A label's text as Prometheus writes it. */
function escapedLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
