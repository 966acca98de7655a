import path from 'node:path';
import type { Context } from '../context.ts';
import { cacheFolder, makeFolder } from './folders.ts';
import { readRegularFile, replaceFile } from './whole-files.ts';

export type ListName = 'event-types' | 'subscriptions';

/**
 * A profile's latest list from a service, in a file of the cache: for shell completion, which must not use
 * the service or the keychain.
 */
export class KeptList {
  readonly file: string;

  constructor(
    name: ListName,
    { profile, baseUrl }: { readonly profile: string; readonly baseUrl: URL },
    context: Pick<Context, 'environment' | 'machine'>,
  ) {
    // Several services may share a host, each with its own path.
    const service = encodeURIComponent(`${baseUrl.host}${baseUrl.pathname.replace(/\/$/, '')}`);
    this.file = path.join(cacheFolder(context), `${name}-${profile}-${service}.json`);
  }

  /** Returns the kept JSON value; undefined if there is none, or if it cannot be read. */
  read(): unknown {
    try {
      return JSON.parse(readRegularFile(this.file).toString());
    } catch {
      return undefined;
    }
  }

  async replace(list: unknown): Promise<void> {
    try {
      makeFolder(path.dirname(this.file));
      await replaceFile(this.file, JSON.stringify(list));
    } catch {
      // Completion then offers fewer words.
    }
  }
}
