import { describe, expect, test } from 'vitest';
import { parseSetting } from '../../src/settings/setting-names.ts';
import { machineZone } from '../../src/system.ts';
import { zoneOf } from '../../src/time/time-zone.ts';
import { thisMachine } from '../support/context.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

describe('the setting timezone', () => {
  test.each([
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['Etc/UTC', 'UTC'],
    ['Local', 'local'],
    ['europe/berlin', 'Europe/Berlin'],
    [' Asia/Kolkata ', 'Asia/Kolkata'],
    ['US/Pacific', 'US/Pacific'],
  ])("'%s' is %s", (text, name) => expect(parseSetting('timezone', text, '--timezone')).toBe(name));

  test('local is the zone of the machine', () => {
    expect(zoneOf('local', { machine: { ...thisMachine(), timezone: 'Asia/Kolkata' } }).name).toBe(
      'Asia/Kolkata',
    );
    expect(zoneOf('local', { machine: { ...thisMachine(), timezone: 'Etc/UTC' } }).isUtc).toBe(true);
    for (const timezone of ['Etc/Unknown', 'Mars/Etc/UTC', 'UTCx'])
      expect(() => zoneOf('local', { machine: { ...thisMachine(), timezone } })).toThrow(
        expect.objectContaining({
          message: `--timezone local: this machine's zone '${timezone}' is unknown`,
          next: 'give its name, as in --timezone Europe/Berlin',
        }),
      );
  });
});

describe('the zone of the machine', () => {
  test.each([
    [undefined, 'Europe/Berlin', 'Europe/Berlin'],
    [undefined, undefined, 'UTC'],
    [':Europe/Berlin', 'Europe/Berlin', 'Europe/Berlin'],
    ['', 'Etc/Unknown', 'UTC'],
    ['UTC0', 'UTC', 'UTC'],
    ['Etc/GMT', 'UTC', 'UTC'],
  ])('with TZ=%s is %s to ICU and %s to us', (variable, found, name) =>
    expect(machineZone(variable, found)).toBe(name),
  );

  test.each(['Bogus/Zone', 'UTC+3', 'CET-1CEST', '/usr/share/zoneinfo/Europe/Berlin'])(
    'with TZ=%s, which ICU takes for UTC, is not known',
    (variable) => {
      const timezone = machineZone(variable, 'UTC');
      expect(() => zoneOf('local', { machine: { ...thisMachine(), timezone } })).toThrow(
        `this machine's zone '${variable}' is unknown`,
      );
    },
  );
});

describe('filters are read in the zone', () => {
  const dryRun = ['events', 'search', '--dry-run', '--base-url', 'https://events.example.com/v1'];

  test('of a flag, a variable, a profile', async () => {
    await using home = await createHome();
    const { env } = home;
    const words = [...dryRun, '--since', '2026-11-01'];
    const found = await hooktrail([...words, '--timezone', 'Europe/Berlin'], { env });
    expect(found.stdout).toContain('gt(createdOn,2026-10-31T23:00:00Z)');
    expect((await hooktrail(words, { env: { ...env, HOOKTRAIL_TIMEZONE: 'Europe/Berlin' } })).stdout).toBe(
      found.stdout,
    );
    expect((await hooktrail(words, { env })).stdout).toContain('gt(createdOn,2026-11-01)');
    expect(await hooktrail(['config', 'set', 'timezone', 'Europe/Berlin'], { env })).toMatchObject({
      code: 0,
    });
    expect((await hooktrail(words, { env })).stdout).toBe(found.stdout);
    expect((await hooktrail([...words, '--timezone', 'UTC'], { env })).stdout).toContain(
      'gt(createdOn,2026-11-01)',
    );
  });
});
