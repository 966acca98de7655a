import { randomBytes } from 'node:crypto';
import { advise, hooktrail } from '../advice.ts';
import type { Context, Keychain } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { openKeychain, probeKeychain } from './keychain.ts';
import { KeychainError } from './keychain-error.ts';
import { seal, unseal } from './sealed-file.ts';
import { openSecretCopies, probeSecretFolder } from './secret-files.ts';
import {
  type Binding,
  bindingHash,
  bindingText,
  parseSecrets,
  type Secrets,
  type StoredSecrets,
  type Vault,
} from './vault.ts';

type KeychainVaultContext = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;

/**
 * Bytes of the longest item. Windows stores at most 2,560 bytes. Longer secrets are kept in the file,
 * encrypted with the key in the item, because a file is replaced atomically and several items are not. The
 * limit applies on every system, so that every system tests it.
 */
const ITEM_LIMIT_BYTES = 2_048;

interface Item {
  readonly key: Buffer;
  readonly secrets?: StoredSecrets | undefined;
}

/**
 * Keeps secrets in one item of the OS keychain, so that the system asks the user once and a write is atomic.
 * The access token, which may be long and changes often, is cached in a file encrypted with a random key that
 * only the item holds.
 */
export function openKeychainVault(binding: Binding, context: KeychainVaultContext): Vault {
  const copies = openSecretCopies(binding, 'access', context);
  const authenticated = Buffer.from(`hooktrail 1 access ${bindingText(binding)}`);
  let keychain: Promise<Keychain> | undefined;
  let item: Item | undefined;
  let started: Promise<Item | undefined> | undefined;

  const open = () => {
    keychain ??= openKeychain(context);
    return keychain;
  };
  const account = (name: string) => `${binding.profile}/${bindingHash(binding)}/${name}`;
  const readItem = async () => {
    const text = await (await open()).get(account('sign-in'));
    item = text === null ? undefined : itemOf(text);
    if (text !== null && item === undefined) throw damaged(copies.file);
    return item;
  };
  const setItem = async (next: Item) => {
    await (await open()).set(account('sign-in'), itemText(next));
    item = next;
  };
  const dated = (secrets: Secrets) => copies.dated(secrets, item?.secrets?.written);
  const sealed = (secrets: StoredSecrets, key: Buffer) =>
    seal(key, Buffer.from(JSON.stringify(secrets)), authenticated);
  return {
    kind: 'keychain',
    place: PLACES[context.machine.platform] ?? 'the Secret Service',
    async probe() {
      await probeKeychain(await open(), account(`probe-${context.machine.pid}`));
      await probeSecretFolder(context);
      await readItem();
    },
    async startReading() {
      await open().catch(() => undefined);
      started = readItem();
      started.catch(() => undefined);
    },
    async read() {
      const reading = started ?? readItem();
      started = undefined;
      const found = await reading;
      if (found === undefined) return undefined;
      // If the cache is unreadable, the refresh token gets a new access token.
      const inFile = await copies.read((file) => {
        const text = unseal(found.key, file, authenticated);
        return text && parseSecrets(text.toString('utf8'));
      });
      const last = found.secrets && found.secrets.written >= (inFile?.written ?? 0) ? found.secrets : inFile;
      if (last === undefined) throw damaged(copies.file);
      const { written, ...lasting } = last;
      const access = inFile?.access;
      const { refreshToken, clientSecret, grant } = lasting;
      const isEmpty = !refreshToken && !clientSecret && !grant && !access;
      return isEmpty ? undefined : { ...lasting, access };
    },
    async write({ access, ...lasting }) {
      const key = item?.key ?? randomBytes(32);
      const secrets = dated(lasting);
      // Store the irreplaceable secrets first.
      if (Buffer.byteLength(itemText({ key, secrets })) <= ITEM_LIMIT_BYTES) {
        await setItem({ key, secrets });
        await copies.write(sealed({ access, written: secrets.written }, key));
      } else {
        await copies.write(sealed({ ...secrets, access }, key));
        if (item === undefined || item.secrets) await setItem({ key });
      }
    },
    async rescue(secrets) {
      // A file encrypted with a key that is not in the keychain could never be opened.
      if (item === undefined) throw new KeychainError('refused');
      const file = sealed(dated(secrets), item.key);
      try {
        await copies.write(file);
        return copies.file;
      } catch {
        return await copies.rescue(file);
      }
    },
  };
}

function damaged(file: string): NotSignedInError {
  return new NotSignedInError('the stored refresh token is damaged', {
    details: [`${file} is missing, was changed, or belongs to another key`],
    next: advise`run ${hooktrail('logout')} and ${hooktrail('login')}`,
  });
}

function itemText({ key, secrets }: Item): string {
  return JSON.stringify({ ...secrets, key: key.toString('base64url') });
}

function itemOf(text: string): Item | undefined {
  try {
    const { key, ...secrets } = JSON.parse(text);
    const bytes = Buffer.from(key, 'base64url');
    if (bytes.length !== 32) return undefined;
    return { key: bytes, secrets: secrets.written === undefined ? undefined : secrets };
  } catch {
    return undefined;
  }
}

const PLACES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'the macOS Keychain',
  win32: 'the Windows Credential Manager',
};
