import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { SandboxOptions } from './sandbox.ts';
import { type SigningIn, startSigningIn } from './signing-in.ts';

/** A signed-in user whose access token is due for a refresh. */
export interface Refreshing extends SigningIn {
  /** The errors with which the token endpoint answered refreshes, in order; `ok` for a granted one. */
  refreshes(): string[];
  /** The stored content, by file. */
  stored(): Promise<Map<string, string>>;
}

/** The next command refreshes; tokens granted from then on last for half an hour. */
export async function startRefreshing(options: SandboxOptions = {}): Promise<Refreshing> {
  const at = await startSigningIn({ tokenLifetimeSeconds: 30, ...options });
  await at.signIn();
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
  return Object.assign(at, {
    refreshes: () =>
      at.sandbox.log
        .filter(({ grantType }) => grantType === 'refresh_token')
        .map(({ error }) => error ?? 'ok'),
    stored: async () => {
      const folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
      const names = (await readdir(folder)).sort();
      return new Map(
        await Promise.all(
          names.map(
            async (name) => [name, await readFile(path.join(folder, name), 'hex')] as [string, string],
          ),
        ),
      );
    },
  });
}
