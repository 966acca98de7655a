import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { type Recovering, startRecovering } from '../support/listening.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';

const OWN = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const at = forEachTest(() => startRecovering({ events: 0 }));

const withoutToken = ({ env }: Pick<Recovering, 'env'>) => {
  const { HOOKTRAIL_API_TOKEN: _, ...rest } = env;
  return rest;
};

/** Saves a token as the profile's, or as that of a subscription. */
async function save(token: string, ...flags: readonly string[]): Promise<void> {
  const env = { ...withoutToken(at), HOOKTRAIL_API_TOKEN: token };
  const saving = startHooktrail(['webhooks', 'listen', '--port', '0', '--save-token', ...flags], { env });
  await saving.printed('stderr', /listening on/);
  saving.kill('SIGTERM');
  await saving.finished;
}

test.each([
  ['recover', ['--new-journal']],
  ['replay', []],
])(
  '%s for one subscription sends its token, and that of the profile where it has none',
  async (name, more) => {
    const sentToken = async () => {
      at.searching.sandbox.control.addEvent({ subscriptionId: OWN });
      const args = ['webhooks', name, '--since', '1d', '--subscription', OWN, '--forward-to', at.handler.url];
      const { code } = await hooktrail([...args, ...more], { env: withoutToken(at) });
      expect(code).toBe(0);
      return at.handler.received.at(-1)?.headers['api-token'];
    };
    await save('of-the-profile');
    expect(await sentToken()).toBe('of-the-profile');
    await save('of-the-subscription', '--subscription', OWN);
    expect(await sentToken()).toBe('of-the-subscription');
  },
);
