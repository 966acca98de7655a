import { hash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { cacheFolder, makeFolder } from '../files/folders.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';
import { bindingHash } from '../secrets/encrypted-file.ts';
import type { Binding, Secrets } from '../secrets/vault.ts';

/** The refusal to renew a sign-in, in a file of the cache: it holds no secret, and may get lost. */
export interface NotedRefusal {
  /** SHA-256 of the result of `renewedWith`, which differs for a later sign-in. */
  readonly token: string;
  readonly of: 'sign-in' | 'client';
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly details: readonly string[];
}

/** Milliseconds for which concurrent or looping commands do not send a refused token again. */
export const REFUSAL_MS = 60_000;

/** Identifies this sign-in's renewals: by its refresh token, or the client's last access token. */
function renewedWith({ refreshToken, grant, access }: Secrets): string | undefined {
  return grant === undefined ? refreshToken : `${grant} ${access?.token}`;
}

/** Returns the last refusal to renew this sign-in; undefined if none is noted. */
export function readRefusal(
  binding: Binding,
  context: Pick<Context, 'environment' | 'machine'>,
  stored: Secrets,
): NotedRefusal | undefined {
  const key = renewedWith(stored);
  if (key === undefined) return undefined;
  try {
    const { token, of, at, details } = JSON.parse(readRegularFile(refusalFile(binding, context)).toString());
    if (token !== hash('sha256', key) || !Number.isFinite(at)) return undefined;
    return { token, of: of === 'client' ? 'client' : 'sign-in', at, details: details.map(String) };
  } catch {
    return undefined;
  }
}

export async function noteRefusal(
  stored: Secrets,
  refused: Pick<NotedRefusal, 'of' | 'details'>,
  binding: Binding,
  context: Context,
): Promise<void> {
  const token = hash('sha256', renewedWith(stored) ?? '');
  const refusal: NotedRefusal = { token, at: context.clock.now(), ...refused };
  const file = refusalFile(binding, context);
  makeFolder(path.dirname(file));
  await replaceFile(file, JSON.stringify(refusal));
}

export function forgetRefusal(binding: Binding, context: Pick<Context, 'environment' | 'machine'>): void {
  try {
    rmSync(refusalFile(binding, context), { force: true });
  } catch {
    // Harmless: `status` reports the refusal until the next renewal.
  }
}

/** True if the provider refused the last renewal, and nothing was stored since. */
export function isRefused(binding: Binding, context: Pick<Context, 'environment' | 'machine'>): boolean {
  return existsSync(refusalFile(binding, context));
}

export function refusalFile(binding: Binding, context: Pick<Context, 'environment' | 'machine'>): string {
  return path.join(cacheFolder(context), `refusal-${bindingHash(binding)}.json`);
}
