import { hash } from 'node:crypto';
import { promises as files } from 'node:fs';
import path from 'node:path';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { configFolder } from '../files/folders.ts';
import { withLock } from '../lock/lock.ts';
import { askPassphrase } from './file-vault.ts';
import { openKeychain } from './keychain.ts';
import { KeychainError } from './keychain-error.ts';
import { damageOf, FileSeal, generateKey, sealKindIn, sealKindOf } from './sealed-file.ts';
import {
  deleteSecretFile,
  listRescued,
  openCopies,
  readSecretFile,
  writeSecretFile,
} from './secret-files.ts';
import { checkStore, requireNoneHeld } from './stored-sign-ins.ts';

export interface TokenStore {
  readonly profile: string;
  readonly store: 'keychain' | 'file';
}

interface StoredToken {
  readonly token: string;
  readonly written: number;
}

export type ApiTokens = ReturnType<typeof openApiTokens>;

/**
 * The saved `Api-Token`s of a profile: one of its own, for users with a single subscription, and one per
 * subscription. Each is in an encrypted file. The key is the passphrase of the encrypted store or, with the
 * keychain, a random one in a separate item. That item is created before the first token, so saving a new
 * token, the only valid one, takes just one file write in either of two folders.
 */
export function openApiTokens({ profile, store }: TokenStore, context: Context) {
  let secret: string | undefined;

  const readKey = async () => (await openKeychain(context)).get(keyAccount(profile));
  const findSecret = async () =>
    store === 'file' ? await askPassphrase(profile, context) : ((await readKey()) ?? undefined);
  const makeKey = async (): Promise<string> => {
    const found = await readKey();
    if (found !== null && sealKindOf(found) === 'key') return found;
    const keychain = await openKeychain(context);
    const made = generateKey();
    await keychain.set(keyAccount(profile), made);
    if ((await keychain.get(keyAccount(profile))) === made) return made;
    throw new KeychainError('refused', 'what was stored could not be read back');
  };
  const requireSecret = async (): Promise<string> => {
    if (store === 'file') return await askPassphrase(profile, context, { isNew: true });
    // Without the lock, two processes could each make a key, and the tokens under one of them would be lost.
    return await withLock(keyAccount(profile), context, makeKey);
  };
  const fileSeal = new FileSeal(async () => {
    secret ??= await requireSecret();
    return secret;
  });

  const of = (subscription?: string) => {
    const owner = ownerName(profile, subscription);
    const copies = openCopies<StoredToken>(tokenFile(owner, context), context);
    const bound = JSON.stringify(['api-token', owner]);
    const seal = async (token: string) => {
      const content: StoredToken = copies.dated({ token });
      return await fileSeal.seal(JSON.stringify(content), bound);
    };
    const open = async (file: Buffer, place: string): Promise<StoredToken> => {
      secret ??= await findSecret();
      if (secret !== undefined && !damageOf(file) && sealKindIn(file) === sealKindOf(secret)) {
        const text = await fileSeal.open(secret, file, bound);
        if (text !== undefined) return JSON.parse(text) as StoredToken;
      }
      throw unreadable(place, subscription, store);
    };
    return {
      place: copies.file,
      /** Returns the saved token; undefined if there is none. Throws `UsageError` if it cannot be read. */
      read: async () => (await copies.read(open))?.token,
      /**
       * Changes whenever any process saves the token. Reads only the sealed files, so it needs neither the
       * keychain nor a passphrase.
       */
      revision: async () => hash('sha256', Buffer.concat(await copies.readSealed())),
      write: async (token: string) => await copies.write(await seal(token)),
      rescue: async (token: string) => await copies.rescue(await seal(token)),
      /**
       * Records that a renewal has begun, which invalidates the saved token. The note stays if the outcome
       * remains unknown.
       */
      noteRenewal: async () => {
        // The new token has to be dated later than the old one.
        await copies.read(open).catch(() => undefined);
        const since = JSON.stringify({ since: new Date(context.clock.now()).toISOString() });
        await writeSecretFile(renewalFile(owner, context), Buffer.from(since), context.machine);
      },
      forgetRenewal: async () => await deleteSecretFile(renewalFile(owner, context)).catch(() => undefined),
      /** True if the outcome of a renewal is unknown: the saved token may be invalid. */
      isInDoubt: async () => {
        const note = await readSecretFile(renewalFile(owner, context)).catch(() => undefined);
        return note !== undefined;
      },
    };
  };

  return {
    of,
    /** Checks that a token can be saved, before the service makes one. Throws the store's own error. */
    async probe(): Promise<void> {
      await checkStore(store, context);
      await fileSeal.prepare();
      const file = path.join(tokenFolder(context), `${profile}~probe${ENDING}`);
      await writeSecretFile(file, new Uint8Array(1_024), context.machine);
      await deleteSecretFile(file);
    },
  };
}

const ENDING = '.api-token';

/**
 * Deletes the tokens of a profile and its subscriptions, or all, and returns their number. A keychain without
 * our secrets counts as empty.
 */
export async function forgetApiTokens(profile: string | undefined, context: Context): Promise<number> {
  const folder = tokenFolder(context);
  const listed = await files.readdir(folder).catch((): string[] => []);
  const names = [...new Set([...listed, ...(await listRescued(context))])].filter((name) =>
    isOurs(name, profile),
  );
  for (const name of names) await openCopies(path.join(folder, name), context).remove();
  const forgetKeys = async () => {
    const keychain = await openKeychain(context);
    const accounts = (await keychain.accounts()).filter((account) =>
      profile === undefined ? account.startsWith(KEY_ACCOUNT) : account === keyAccount(profile),
    );
    for (const account of accounts) await keychain.delete(account);
  };
  // The keys are worthless without the files.
  await forgetKeys().catch(requireNoneHeld);
  return names.filter((name) => name.endsWith(ENDING)).length;
}

function isOurs(name: string, profile: string | undefined): boolean {
  const [, owner] = /^([^~]+?)(?:~[^~]+)?\.(?:api-token|renewal)(?:\.[0-9a-f]+\.tmp)?$/.exec(name) ?? [];
  return owner !== undefined && (profile === undefined || owner === profile);
}

function unreadable(place: string, subscription: string | undefined, store: TokenStore['store']): UsageError {
  const check = store === 'file' ? 'check HOOKTRAIL_PASSPHRASE, or ' : '';
  const again =
    subscription === undefined
      ? advise`${check}save it again with ${hooktrail('webhooks listen --save-token')}`
      : advise`${check}get another with ${hooktrail('subscriptions renew', subscription)}`;
  return new UsageError(`the saved Api-Token in ${place} cannot be read`, {
    details: ['it is damaged, or was saved with another passphrase or in another store'],
    next: again,
  });
}

const KEY_ACCOUNT = 'api-tokens~';

/** Sign-in entries never have this form, so signing out does not delete the key. */
function keyAccount(profile: string): string {
  return `${KEY_ACCOUNT}${profile}`;
}

/** Profile names cannot contain `~`, so the names cannot collide. */
function ownerName(profile: string, subscription: string | undefined): string {
  return subscription === undefined
    ? profile
    : `${profile}~${encodeURIComponent(subscription.toLowerCase())}`;
}

function tokenFolder(context: Pick<Context, 'environment' | 'machine'>): string {
  return path.join(configFolder(context), 'webhooks');
}

function tokenFile(owner: string, context: Context): string {
  return path.join(tokenFolder(context), owner + ENDING);
}

function renewalFile(owner: string, context: Context): string {
  return path.join(tokenFolder(context), `${owner}.renewal`);
}
