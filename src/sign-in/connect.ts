import type { Call } from '../command.ts';
import { traced } from '../http/redaction.ts';
import type { TokenSource } from '../http/service.ts';
import { createService, type Service } from '../http/service.ts';
import { createTransport } from '../http/undici-transport.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import { openSession } from './session.ts';

/**
 * Runs `work` with the event service that the settings name, signed in; connections end with it.
 * Throws `UsageError` where settings are missing, `NotSignedInError` where nothing is stored for them.
 */
export async function withService<Result>(
  { flags, context, reporter }: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  work: (service: Service, settings: Settings<'baseUrl'>) => Promise<Result>,
): Promise<Result> {
  const { settings, tokens: source } = await openSession(flags, context, reporter, ['baseUrl', 'vendor']);
  const { baseUrl, vendor } = settings;
  const transport = traced(createTransport(context), reporter, context.clock);
  try {
    const tokens = askedEarly(source);
    transport.prepare();
    const { clock, signal } = context;
    return await work(createService({ baseUrl, vendor, tokens, transport, clock, signal }), settings);
  } finally {
    await transport.close();
  }
}

/** The first token is asked for at once: a keychain takes its time, in which the rest of the command can be loaded. */
function askedEarly(tokens: TokenSource): TokenSource {
  let first: Promise<string> | undefined = tokens.accessToken();
  // Told to whoever needs the token; a command that fails before has its own to say.
  first.catch(() => undefined);
  return {
    async accessToken() {
      try {
        return await (first ?? tokens.accessToken());
      } finally {
        first = undefined;
      }
    },
    replace: (rejected) => tokens.replace(rejected),
  };
}
