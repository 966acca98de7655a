import { describe, expect, inject, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { spawnHooktrail } from '../support/process.ts';
import { ID, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);

describe.runIf(process.platform === 'linux')('create whose output meets a full disk', () => {
  test.each([[[]], [['--json']]])(
    'names the subscription, and does not say to make another (%j)',
    async (format) => {
      const create =
        'subscriptions create --url https://hooks.example.com/in --type order.paid --yes --quiet';
      const script = 'exec "$0" "$@" > /dev/full';
      const program = [process.execPath, inject('program'), ...create.split(' '), ...format];
      const { code, stderr } = await spawnHooktrail(['-c', script, ...program], {
        env: at.env,
        executable: 'sh',
      });
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
});
