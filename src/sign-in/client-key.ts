import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
  type webcrypto,
} from 'node:crypto';
import { UsageError } from '../errors.ts';

export interface ClientKey {
  readonly key: webcrypto.CryptoKey;
  /** The provider's id of the public key (`kid`, RFC 7517 section 4.5). */
  readonly id: string | undefined;
}

const ACCEPTED = 'an EC key on the curve P-256 (ES256) or an RSA key of 2048 bits or more (RS256)';
const NEXT = `name a file with the private key, as PEM or as a JWK: ${ACCEPTED}`;

const ES256 = { name: 'ECDSA', namedCurve: 'P-256' };
const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const SHORTEST_RSA_BITS = 2048;

/**
 * Parses a private key: PEM (PKCS #8, PKCS #1 or SEC 1) or a JWK (RFC 7517). `id` overrides the JWK's own
 * `kid`. Throws `UsageError`, which quotes nothing of the text, if it is not a usable private key.
 */
export async function importClientKey(text: string, id: string | undefined): Promise<ClientKey> {
  const isJson = text.trimStart().startsWith('{');
  const jwk = isJson ? readJwk(text) : undefined;
  const privateKey = jwk ? keyOfJwk(jwk) : keyOfPem(text);
  const algorithm = algorithmOf(privateKey);
  const wanted = jwk?.['alg'];
  const name = algorithm === ES256 ? 'ES256' : 'RS256';
  if (wanted !== undefined && wanted !== name) throw unusable(`it is for ${shownWord(wanted)}`);
  if (jwk && !isOwnPair(privateKey, jwk))
    throw unusable('its private part (d) does not match its public part');
  const der = privateKey.export({ type: 'pkcs8', format: 'der' });
  const key = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']);
  const ownId = jwk?.['kid'];
  return { key, id: id ?? (typeof ownId === 'string' ? ownId : undefined) };
}

function unusable(why: string): UsageError {
  return new UsageError(`HOOKTRAIL_CLIENT_KEY: the key cannot be used: ${why}`, { next: NEXT });
}

/** Nothing else of the file may be shown in a message. */
function shownWord(value: unknown): string {
  return typeof value === 'string' && /^[\w-]{1,20}$/.test(value) ? value : 'another algorithm';
}

type Jwk = Readonly<Record<string, unknown>>;

function readJwk(text: string): Jwk {
  let jwk: Jwk;
  try {
    jwk = JSON.parse(text);
  } catch {
    // The parser's message would quote a piece of the text.
    throw unusable('it is not valid JSON');
  }
  if (Array.isArray(jwk['keys'])) throw unusable('it is a set of keys, and one of them is needed');
  if (jwk['kty'] === 'oct') throw unusable('it is a symmetric key');
  if (jwk['d'] === undefined) throw unusable('it has no private part (d)');
  if (jwk['use'] !== undefined && jwk['use'] !== 'sig') throw unusable('it is not for signatures (use)');
  return jwk;
}

function keyOfJwk(jwk: Jwk): KeyObject {
  try {
    return createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' });
  } catch {
    throw unusable('it is not a valid JWK');
  }
}

function isOwnPair(key: KeyObject, { kty, crv, x, y, n, e }: Jwk): boolean {
  const text = Buffer.from('any text');
  try {
    const publicKey = createPublicKey({ key: { kty, crv, x, y, n, e } as JsonWebKey, format: 'jwk' });
    return verify('sha256', text, publicKey, sign('sha256', text, key));
  } catch {
    return false;
  }
}

function keyOfPem(text: string): KeyObject {
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) {
    throw new UsageError('HOOKTRAIL_CLIENT_KEY: the key is encrypted with a passphrase', {
      next: "let a command decrypt it: HOOKTRAIL_CLIENT_KEY_COMMAND='openssl pkey -in key.pem -passin file:pass.txt'",
    });
  }
  try {
    return createPrivateKey(text);
  } catch {
    throw unusable(isPublic(text) ? 'it is a public key or a certificate' : 'it is neither PEM nor a JWK');
  }
}

function isPublic(text: string): boolean {
  try {
    createPublicKey(text);
    return true;
  } catch {
    return false;
  }
}

function algorithmOf(key: KeyObject): typeof ES256 | typeof RS256 {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  if (type === 'ec' && details.namedCurve === 'prime256v1') return ES256;
  if (type === 'ec') throw unusable(`it is on the curve ${details.namedCurve}`);
  if (type !== 'rsa') throw unusable(`it is of the type ${type}`);
  const bits = details.modulusLength ?? 0;
  if (bits < SHORTEST_RSA_BITS) throw unusable(`it has ${bits} bits`);
  return RS256;
}
