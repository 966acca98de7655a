import type { Context } from '../../context.ts';
import type { Reporter } from '../../output/reporter.ts';
import { isRemote, remoteAdvice } from './advice.ts';
import type { AuthorizationRequest } from './request.ts';

interface AnnounceOptions {
  readonly browser: boolean;
  readonly paste: boolean;
}

/** Shows the user the URL, whatever the options say, and opens the browser on it where one is wanted and near. */
export async function announce(
  { url, redirectUri }: Pick<AuthorizationRequest, 'url' | 'redirectUri'>,
  { browser, paste }: AnnounceOptions,
  { environment, machine, browser: opener }: Pick<Context, 'environment' | 'machine' | 'browser'>,
  reporter: Reporter,
): Promise<void> {
  const command = environment['HOOKTRAIL_BROWSER'] || undefined;
  // A browser over there is a text browser or none: it would take the terminal, or nothing would happen.
  const near =
    command !== undefined ||
    !isRemote(environment) ||
    Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
  const opens = browser && near;
  if (!paste) {
    for (const line of remoteAdvice(environment, machine.hostname, redirectUri.url)) reporter.notice(line);
  }
  reporter.notice(opens ? 'Sign in in the browser. If it does not open, go to' : 'Sign in in a browser at');
  reporter.say(url.href);
  if (!opens) return;
  try {
    await opener.open(url, command);
  } catch (error) {
    reporter.warning(`the browser could not be started: ${(error as Error).message}`);
    reporter.notice('Open the URL above by hand; the sign-in goes on.');
  }
}
