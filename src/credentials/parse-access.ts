import type { AccessToken } from './vault.ts';

/** An access token as it was stored; undefined where the text is none. */
export function parseAccess(text: string): AccessToken | undefined {
  let value: Partial<AccessToken> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value?.token !== 'string') return undefined;
  return {
    token: value.token,
    expiresAt: typeof value.expiresAt === 'number' ? value.expiresAt : undefined,
    scope: typeof value.scope === 'string' ? value.scope : undefined,
  };
}
