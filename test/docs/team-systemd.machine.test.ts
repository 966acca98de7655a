import { cp, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { available } from '../support/machine/requirement.ts';
import { blocksOf, readPages } from './pages.ts';
import {
  blockWith,
  execute,
  inRoot,
  mayHaveRoots,
  PATH,
  PLATFORMS,
  packageFolder,
  page,
  realTime,
  startTeamSandbox,
  withAddresses,
} from './team-page.ts';

const INSTALL = blockWith('sh', '--prefix /usr/local');

/** The unit of the page on alerts, which that page's test runs. */
const alarm = {
  name: 'hooktrail-alarm.service',
  text: (await readPages())
    .filter(({ file }) => file === 'docs/alerting.md')
    .flatMap((each) => blocksOf(each, 'ini'))
    .join(''),
};

/** The units of the page by their names, and that of alerts. */
const pageUnits = [
  ...page.text.matchAll(/^`\/etc\/systemd\/system\/(.*)`:\n\n```ini\n([\s\S]*?)^```$/gm),
].map(([, name = '', text = '']) => ({ name, text }));
const units = [...pageUnits, alarm];

/** The value of a unit's setting, with its lines joined. */
function settingOf(name: string, setting: string): string {
  const { text = '' } = units.find((unit) => unit.name === name) ?? {};
  return new RegExp(`^${setting}=(.*)$`, 'm').exec(text.replaceAll(/\\\n\s*/g, ''))?.[1] ?? '';
}

describe.skipIf(!mayHaveRoots || !PLATFORMS.includes('systemd'))('systemd', () => {
  const folder = () => path.join(os.tmpdir(), 'systemd-root');

  beforeAll(async () => {
    await inRoot(folder(), 'true');
    const there = await packageFolder();
    for (const name of await readdir(there))
      await cp(path.join(there, name), path.join(folder(), 'root', name));
    await inRoot(folder(), `cd\n${INSTALL}`);
    for (const { name, text } of units)
      await writeFile(path.join(folder(), 'etc/systemd/system', name), text);
  }, 120_000);

  test.skipIf(!available('systemd-analyze'))('accepts the units', async () => {
    expect(units.map(({ name }) => name)).toEqual([
      'hooktrail-listen.service',
      'hooktrail-export.service',
      'hooktrail-export.timer',
      'hooktrail-alarm.service',
    ]);
    const verify = (names: string) =>
      inRoot(
        folder(),
        `cd /etc/systemd/system && systemd-analyze verify --man=no ${names} 2>&1 | grep hooktrail || :`,
      );
    expect((await verify(units.map(({ name }) => name).join(' '))).stdout).toBe('');
    const wrong = settingOf('hooktrail-listen.service', 'ExecStart').replace('hooktrail', 'hooktrial');
    await writeFile(
      path.join(folder(), 'etc/systemd/system/hooktrail-wrong.service'),
      `[Service]\nExecStart=${wrong}\nSucessExitStatus=143\n`,
    );
    const found = (await verify('hooktrail-wrong.service')).stdout;
    expect(found).toContain('SucessExitStatus');
    expect(found).toContain('hooktrial');
    const calendar = settingOf('hooktrail-export.timer', 'OnCalendar');
    expect((await inRoot(folder(), `systemd-analyze calendar '${calendar}'`)).stdout).toContain(
      '02:30:00 UTC',
    );
  });

  test('has a user of its own who signs in, listens and exports, and a stop is a success', {
    timeout: 120_000,
  }, async () => {
    await using sandbox = await startTeamSandbox();
    await writeFile(path.join(folder(), 'root/client-secret.txt'), `${sandbox.settings.clientSecret}\n`, {
      mode: 0o600,
    });
    await writeFile(path.join(folder(), 'root/api-token.txt'), 's3cret\n', { mode: 0o600 });
    const setup = withAddresses(blockWith('sh', 'useradd'), sandbox);
    const signedIn = await inRoot(folder(), `cd\n${setup}`);
    expect(signedIn.stderr).toContain('Signed in at ');
    expect(signedIn.stderr).not.toContain('warning');

    /**
     * Runs a unit's command as systemd does: its user, and nothing in the environment but that of the unit.
     */
    const asUnit = (unit: string, around: (command: string) => string) => {
      const user = settingOf(unit, 'User');
      const command = `setpriv --reuid ${user} --regid ${user} --clear-groups --no-new-privs env -i PATH=${PATH} HOME=/var/lib/hooktrail $(cat ${settingOf(unit, 'EnvironmentFile')}) ${settingOf(unit, 'ExecStart')}`;
      return inRoot(folder(), around(command));
    };
    const since = new Date(realTime() - 86_400_000).toISOString().slice(0, 10);
    const exported = await asUnit('hooktrail-export.service', (command) =>
      command.replace('--since 2026-11-01', `--since ${since}`),
    );
    expect(exported.stderr).toMatch(
      /^exported: [\d,]+ events in \d+ files? in \/var\/lib\/hooktrail\/events, /,
    );

    const listened = await asUnit(
      'hooktrail-listen.service',
      (command) =>
        `${command} > /dev/null 2> /tmp/log & until grep -q listening /tmp/log; do sleep 0.1; done\n` +
        'curl --fail --silent http://127.0.0.1:8980/health; kill $!; wait $! || echo " $?"',
    );
    const success = settingOf('hooktrail-listen.service', 'SuccessExitStatus');
    expect(listened.stdout).toMatch(new RegExp(`^\\{.*\\}\\s+${success}\n$`));
    expect(
      (await execute('stat', ['-c', '%U', path.join(folder(), 'var/lib/hooktrail/events')])).stdout,
    ).not.toBe('root\n');
  });
});
