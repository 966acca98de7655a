import type { Command } from 'commander';
import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { FORWARD_TIMEOUT_MS, forwardTimeout, handlerUrl } from '../webhook-flags.ts';
import type { SendFlags } from './send.ts';

type Flags = Partial<SendFlags> & SettingFlags;

export const help = `
Delivers one made-up event with a new eventId and the Api-Token (from
HOOKTRAIL_API_TOKEN, or as saved by \`webhooks listen --save-token\`), and prints
the id. The handler's answer is printed on standard error; anything but 2xx
makes the exit code 1. The URL may be that of \`webhooks listen\` itself.`;

export const examples = [
  'hooktrail webhooks send --type order.created --forward-to 3000',
  `hooktrail webhooks send --body event.json --duplicate \\
      --forward-to http://127.0.0.1:8977/`,
];

export function declare(command: Command): void {
  command
    .option('--type <name>', 'the event type of the new event')
    .option('--forward-to <url>', 'the handler that gets it', handlerUrl('--forward-to'))
    .option('--body <file>', 'a JSON object to deliver, with a new eventId (-: standard input)')
    .option('--duplicate', 'deliver the event twice, as the service may')
    .addOption(forwardTimeout());
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags } = call;
  const { forwardTo } = flags;
  if (forwardTo === undefined) {
    throw new UsageError('--forward-to is missing: the handler that gets the event', {
      next: 'name the handler, such as --forward-to http://127.0.0.1:3000/hooks',
    });
  }
  if (!flags.type && flags.body === undefined) {
    throw new UsageError('--type is missing: the event type of the new event', {
      next: advise`${hooktrail('event-types')} lists them; or give a whole event with --body`,
    });
  }
  const { sendAsProfile } = await import('./send.ts');
  await sendAsProfile({ forwardTimeout: FORWARD_TIMEOUT_MS, ...flags, forwardTo }, call);
}
