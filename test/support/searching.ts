import { type CommandOptions, hooktrail, startHooktrail } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { knownOf, textInShape } from './shape.ts';
import { startSigningIn } from './signing-in.ts';

type Given = Partial<CommandOptions>;

/** A sandbox, and a way to run commands against it, signed in by an access token in the environment. */
export async function startSearching(options: SandboxOptions = {}) {
  const at = await startSigningIn({ events: 1000, ...options });
  const { sandbox } = at;
  const env: Readonly<Record<string, string>> = {
    ...at.home.env,
    HOOKTRAIL_BASE_URL: sandbox.settings.baseUrl,
    HOOKTRAIL_VENDOR: sandbox.settings.vendor,
    HOOKTRAIL_ACCESS_TOKEN: await sandbox.control.grantAccessToken(),
  };
  return {
    sandbox,
    control: sandbox.control,
    env,
    run: (args: readonly string[], given: Given = {}) => hooktrail(args, { env, ...given }),
    start: (args: readonly string[], given: Given = {}) => startHooktrail(args, { env, ...given }),
    search: (...args: string[]) => hooktrail(['events', 'search', ...args], { env }),
    /** The raw query of each search that the sandbox received, in order. */
    queries: () =>
      sandbox.log.flatMap(({ url: path }) =>
        path.includes('/integrator-events') ? [path.split('?')[1] ?? ''] : [],
      ),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

export type Searching = Awaited<ReturnType<typeof startSearching>>;

/** Returns the values of the lines of NDJSON; the test says of what type they are. */
// biome-ignore lint/suspicious/noExplicitAny: what the service sends has the type that the test expects.
export function valuesIn<Value = any>(ndjson: string): Value[] {
  return ndjson
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Returns the event's id of each line of NDJSON. */
export const idsOf = (ndjson: string): string[] => valuesIn(ndjson).map((item) => knownOf(item).eventId);

/** Returns lines of NDJSON of flat items, in the shape in which the test runs. */
export const ndjsonOf = (items: readonly object[]) => items.map((item) => `${textInShape(item)}\n`).join('');
