import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { binFolder } from '../support/bin-folder.ts';
import { browserCommand } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { createHome, type Home } from '../support/home.ts';
import { freePort } from '../support/ports.ts';
import { startSigningIn } from '../support/signing-in.ts';

const readme = await readFile(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

function blockWith(start: string): string {
  const found = blocks.filter((text) => text.startsWith(start));
  if (found.length !== 1) throw new Error(`${found.length} blocks of the README begin with ${start}`);
  return found[0] as string;
}

/** Runs the README's script as cron does: with almost no environment, and a `mail` that records its input. */
async function asCron({ folder, env: whole }: Home): Promise<{ printed: string; mail: string }> {
  const bin = await binFolder(folder, inject('program'));
  const mail = path.join(folder, 'mail.txt');
  await writeFile(path.join(bin, 'mail'), `#!/bin/sh\n{ echo "$@"; cat; } > '${mail}'\n`, { mode: 0o755 });
  await writeFile(mail, '');
  const file = path.join(bin, 'failed-deliveries');
  // The reader has to fill in where the programs are, and here also the folder of the settings.
  const own = blockWith('#!/bin/sh').replace('/usr/local/bin:', `${bin}:`);
  await writeFile(file, own, { mode: 0o755 });
  const HOOKTRAIL_CONFIG_DIR = path.join(folder, 'config');
  // The test runs with the machine's clock and home.
  const { NODE_OPTIONS, HOOKTRAIL_TEST_HOME, HOOKTRAIL_TEST_SHARED } = whole;
  clock.run();
  const machine = { NODE_OPTIONS, HOOKTRAIL_TEST_HOME, HOOKTRAIL_TEST_SHARED, ...clock.environment };
  const env = { HOME: folder, PATH: '/usr/bin:/bin', SHELL: '/bin/sh', HOOKTRAIL_CONFIG_DIR, ...machine };
  const printed = await new Promise<string>((resolve) => {
    execFile(file, { env, cwd: folder }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
  return { printed, mail: await readFile(mail, 'utf8') };
}

const isPosix = process.platform !== 'win32';

test.skipIf(!isPosix)('a command of the sandbox is signed in', async () => {
  await using home = await createHome();
  const [line] = blockWith('hooktrail sandbox -- sh -c').split('\n');
  const env = {
    ...home.env,
    PATH: `${await binFolder(home.folder, inject('program'))}:${home.env['PATH']}`,
  };
  const printed = await new Promise<string>((resolve) => {
    execFile('sh', ['-c', line as string], { env, cwd: home.folder }, (_, stdout) => resolve(stdout));
  });
  expect(printed).toMatch(/^createdOn .*\n(.* FAILED .*\n)+$/);
});

test.skipIf(!isPosix)('the lines for the sandbox sign in to it and search', { timeout: 60_000 }, async () => {
  await using home = await createHome();
  const port = await freePort();
  // The default port may be in use here; the sandbox accepts any loopback port.
  const lines = blockWith('hooktrail sandbox --auto-approve > ').replace(
    '. ./sandbox.env',
    `. ./sandbox.env; export HOOKTRAIL_REDIRECT_URI=http://127.0.0.1:${port}/callback`,
  );
  const env = {
    ...home.env,
    PATH: `${await binFolder(home.folder, inject('program'))}:${home.env['PATH']}`,
    HOOKTRAIL_BROWSER: browserCommand,
  };
  const printed = await new Promise<string>((resolve) => {
    execFile('sh', ['-c', `${lines}\nkill $!`], { env, cwd: home.folder }, (_, stdout) => resolve(stdout));
  });
  expect(printed).toMatch(/^createdOn .*\n(.* FAILED .*\n)+$/);
});

test.skipIf(!isPosix)(
  'the script for cron mails failures, stays silent without any, and reports that the check failed',
  { timeout: 60_000 },
  async () => {
    await using signingIn = await startSigningIn({ events: 0 });
    const { sandbox, home } = signingIn;
    const { HOOKTRAIL_PASSPHRASE: _, ...given } = signingIn.env;
    const PATH = `${await binFolder(home.folder, inject('program'))}:${given['PATH']}`;
    const env = { ...given, PATH, HOOKTRAIL_BROWSER: browserCommand };
    const lines = blockWith('hooktrail keygen ');
    await promisify(execFile)('sh', ['-ec', lines], { env, cwd: home.folder });
    expect(await asCron(home)).toEqual({ printed: '', mail: '' });

    const eventId = '61da9926-7c98-4928-81bb-5f216b36f603';
    const createdOn = new Date(clock.now() - 60_000).toISOString();
    const json = JSON.stringify({ eventId, createdOn, publishStatus: 'FAILED', eventType: 'a' });
    sandbox.control.addEvent({ eventId, createdOn, publishStatus: 'FAILED', json });
    const failed = await asCron(home);
    expect(failed.printed).toBe('');
    expect(failed.mail).toMatch(/^-s failed deliveries ops@example\.com\ncreatedOn .*\n.* FAILED .*\n$/);
    expect(failed.mail).toContain(eventId);

    sandbox.control.fault('events', { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' });
    const blind = await asCron(home);
    expect(blind.mail).toBe('');
    expect(blind.printed).toMatch(
      /^the check itself failed\nerror: the search failed: the service answered 403 Forbidden\n/,
    );
  },
);
