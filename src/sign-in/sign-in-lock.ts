import { hash } from 'node:crypto';
import path from 'node:path';
import type { Context } from '../context.ts';
import { configFolder } from '../files/folders.ts';
import type { Settings } from '../settings/settings.ts';

export interface SignInLock {
  readonly name: string;
  readonly place: { readonly folder?: string };
}

type LockedSettings = Pick<Settings<'authUrl' | 'clientId'>, 'authUrl' | 'clientId' | 'profile' | 'store'>;

/**
 * For the encrypted file the lock is on the same volume, since any process or container with access to the
 * file may refresh. The keychain belongs to this machine's user, and so does its lock.
 */
export function signInLock(
  { authUrl, clientId, profile, store }: LockedSettings,
  context: Pick<Context, 'environment' | 'machine'>,
): SignInLock {
  const name = JSON.stringify([authUrl.href, clientId, profile]);
  if (store !== 'file') return { name, place: {} };
  const digest = hash('sha256', name).slice(0, 32);
  return { name, place: { folder: path.join(configFolder(context), 'locks', digest) } };
}
