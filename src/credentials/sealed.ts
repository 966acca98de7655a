import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const IV = 12;
const TAG = 16;

/** AES-256-GCM with a random 96-bit nonce (NIST SP 800-38D, section 8.2.2): nonce, tag, ciphertext. */
export function seal(key: Buffer, plaintext: Uint8Array, authenticated: Uint8Array): Buffer {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(authenticated);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** Undefined where the key is another, or anything was changed. */
export function unseal(key: Buffer, sealed: Buffer, authenticated: Uint8Array): Buffer | undefined {
  if (sealed.length < IV + TAG) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV), { authTagLength: TAG })
    .setAAD(authenticated)
    .setAuthTag(sealed.subarray(IV, IV + TAG));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV + TAG)), decipher.final()]);
  } catch {
    return undefined;
  }
}
