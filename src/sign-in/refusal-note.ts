import { hash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { cacheFolder, makeFolder } from '../files/folders.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';
import type { Binding, Secrets } from '../secrets/vault.ts';
import { bindingHash } from '../secrets/vault.ts';

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

/** The note of the last refusal to renew one sign-in. */
export class RefusalNote {
  readonly file: string;

  constructor(binding: Binding, context: Pick<Context, 'environment' | 'machine'>) {
    this.file = path.join(cacheFolder(context), `refusal-${bindingHash(binding)}.json`);
  }

  /** Returns the refusal to renew these secrets; undefined if none is noted. */
  read(stored: Secrets): NotedRefusal | undefined {
    const key = renewedWith(stored);
    if (key === undefined) return undefined;
    try {
      const { token, of, at, details } = JSON.parse(readRegularFile(this.file).toString());
      if (token !== hash('sha256', key) || !Number.isFinite(at)) return undefined;
      return { token, of: of === 'client' ? 'client' : 'sign-in', at, details: details.map(String) };
    } catch {
      return undefined;
    }
  }

  async write(stored: Secrets, refused: Pick<NotedRefusal, 'of' | 'at' | 'details'>): Promise<void> {
    const refusal: NotedRefusal = { token: hash('sha256', renewedWith(stored) ?? ''), ...refused };
    makeFolder(path.dirname(this.file));
    await replaceFile(this.file, JSON.stringify(refusal));
  }

  remove(): void {
    try {
      rmSync(this.file, { force: true });
    } catch {
      // Harmless: `status` reports the refusal until the next renewal.
    }
  }

  /** True if the provider refused the last renewal, and nothing was stored since. */
  get exists(): boolean {
    return existsSync(this.file);
  }
}
