import { describe, expect, inject, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { spawnHooktrail } from '../support/process.ts';
import { ID, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);

describe.runIf(process.platform === 'linux')('a change whose output meets a full disk', () => {
  const onFullDisk = (...args: string[]) =>
    spawnHooktrail(['-c', 'exec "$0" "$@" > /dev/full', process.execPath, inject('program'), ...args], {
      env: at.env,
      executable: 'sh',
    });

  test.each([[[]], [['--json']]])(
    'create names the subscription, and does not say to make another (%j)',
    async (format) => {
      const content = [
        '--url',
        'https://hooks.example.com/in',
        '--type',
        'order.paid',
        '--marketplace',
        '2001',
      ];
      const { code, stderr } = await onFullDisk(
        ...['subscriptions', 'create', ...content, '--yes', '--quiet', ...format],
      );
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          `error: the subscription ${ID} was created, but could not be printed\n` +
          '  the output cannot be written: no space left on device (ENOSPC)\n' +
          `next: do not create it again: \`hooktrail subscriptions get ${ID}\` shows it, and its Api-Token is saved\n`,
      });
      expect(at.sent('POST')).toHaveLength(1);
    },
  );

  test('renew does not say to renew again', async () => {
    const { code, stderr } = await onFullDisk('subscriptions', 'renew', ID, '--yes', '--quiet', '--json');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `error: the Api-Token of ${ID} was renewed, but that could not be printed\n` +
        '  the output cannot be written: no space left on device (ENOSPC)\n' +
        `next: do not renew it again: the new one is saved, and \`hooktrail subscriptions token ${ID}\` prints it\n`,
    });
    expect(at.sent('POST')).toHaveLength(1);
  });
});
