import type * as OAuth from 'oauth4webapi';
import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Context, Environment, SecretVariable } from '../context.ts';
import { NotSignedInError, UsageError } from '../errors.ts';
import { givenSecret, isSecretGiven, sourcesOf } from '../secrets/given-secret.ts';
import type { Secrets } from '../secrets/vault.ts';
import { urlText } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import type { ClientKey } from './client-key.ts';

/** The client's credential for authenticating to the provider (RFC 6749 section 2.3). */
export type ClientProof =
  /** A shared secret, sent in the body as in the service description. */
  | { readonly method: 'secret'; readonly secret: string }
  /**
   * A private key, which signs an assertion for each request (RFC 7523 section 2.2). `audience`: the issuer.
   */
  | { readonly method: 'key'; readonly key: ClientKey; readonly audience: string }
  /**
   * A token that the platform gives this workload, used as the assertion (RFC 7523 section 2.2) and read for
   * each request.
   */
  | { readonly method: 'assertion'; readonly read: () => Promise<string> }
  | { readonly method: 'none' };

export type ProofMethod = ClientProof['method'];

const VARIABLES = [
  ['secret', 'HOOKTRAIL_CLIENT_SECRET'],
  ['key', 'HOOKTRAIL_CLIENT_KEY'],
  ['assertion', 'HOOKTRAIL_CLIENT_ASSERTION'],
] as const satisfies readonly (readonly [ProofMethod, SecretVariable])[];

/**
 * Returns the method set in the environment, if any. Reads and runs nothing. Throws `UsageError` if there are
 * two.
 */
export function givenMethod(environment: Environment): Exclude<ProofMethod, 'none'> | undefined {
  const given = VARIABLES.filter(([, variable]) => isSecretGiven(variable, environment));
  if (given.length > 1) throw twoProofs(given.flatMap(([, variable]) => sourcesOf(variable, environment)));
  return given[0]?.[0];
}

/**
 * Returns the method set by the flags of `login` or the environment, if any. Throws `UsageError` if there are
 * two.
 */
export function wantedMethod(
  { publicClient, clientSecretStdin }: { readonly publicClient?: true; readonly clientSecretStdin?: boolean },
  environment: Environment,
): ProofMethod | undefined {
  const given = givenMethod(environment);
  const variables = VARIABLES.flatMap(([, variable]) => sourcesOf(variable, environment));
  if (publicClient && given) throw twoProofs(['--public-client', ...variables]);
  if (publicClient) return 'none';
  if (!clientSecretStdin) return given;
  // The flag applies to this run, and overrides the variable of the same secret.
  if (given && given !== 'secret') throw twoProofs(['--client-secret-stdin', ...variables]);
  return 'secret';
}

function twoProofs(names: readonly string[]): UsageError {
  return new UsageError(`${names.join(' and ')} are both given, but a client authenticates in one way`, {
    next: 'leave out all but one of them',
  });
}

type ProvingSettings = Pick<Settings<'authUrl'>, 'authUrl' | 'issuer'>;

/** Returns the audience of assertions: the configured issuer, never one from metadata. */
export function audienceOf({ authUrl, issuer }: ProvingSettings): string {
  return issuer === undefined || issuer === 'none' ? urlText(authUrl) : issuer;
}

/** Returns the credential from the environment. Throws `UsageError` if it is missing or unusable. */
export async function givenProof(
  method: Exclude<ProofMethod, 'none'>,
  audience: string,
  context: Context,
): Promise<ClientProof> {
  if (method === 'secret') {
    const secret = await givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
    if (secret === undefined) throw missingProof('the client secret', 'HOOKTRAIL_CLIENT_SECRET');
    return { method, secret };
  }
  if (method === 'assertion') return { method, read: () => readAssertion(context) };
  const text = await givenSecret('HOOKTRAIL_CLIENT_KEY', context);
  if (text === undefined) throw missingProof('the private key of the client', 'HOOKTRAIL_CLIENT_KEY_FILE');
  // Few runs need it, and it loads `node:crypto`.
  const { importClientKey } = await import('./client-key.ts');
  const id = context.environment['HOOKTRAIL_CLIENT_KEY_ID'] || undefined;
  return { method, key: await importClientKey(text, id), audience };
}

export function storedMethod(stored: Secrets | undefined, environment: Environment): ProofMethod {
  if (stored?.client === 'none') return 'none';
  return givenMethod(environment) ?? stored?.client ?? 'secret';
}

/**
 * Returns the credential for a stored sign-in. The environment takes precedence, as for every setting; but a
 * public client stays one, and an assertion is for the issuer of the sign-in. Throws as `givenProof` does.
 */
export async function storedProof(
  stored: Secrets | undefined,
  settings: ProvingSettings,
  context: Context,
): Promise<ClientProof> {
  const { clientSecret, issuer = audienceOf(settings) } = stored ?? {};
  const method = storedMethod(stored, context.environment);
  if (method === 'none') return { method };
  if (method !== 'secret' || isSecretGiven('HOOKTRAIL_CLIENT_SECRET', context.environment))
    return await givenProof(method, issuer, context);
  // Every sign-in with a secret stores it.
  return { method, secret: clientSecret ?? '' };
}

function missingProof(what: string, variable: string): UsageError {
  return new UsageError(`${what} is needed, and no variable gives it`, {
    details: ['the sign-in was made with it, and it is not stored'],
    next: advise`set ${variable}, or sign in again with ${hooktrail('login')}`,
  });
}

/**
 * Returns the workload's current token. Throws `UsageError` if it is not a JSON Web Token, and
 * `NotSignedInError` if it has expired, since the provider would refuse it.
 */
async function readAssertion(context: Context): Promise<string> {
  const assertion = await givenSecret('HOOKTRAIL_CLIENT_ASSERTION', context);
  if (assertion === undefined) throw missingProof("the workload's token", 'HOOKTRAIL_CLIENT_ASSERTION_FILE');
  if (!/^[\w-]+(\.[\w-]*){2,4}$/.test(assertion))
    throw new UsageError('HOOKTRAIL_CLIENT_ASSERTION: the value is not a JSON Web Token', {
      next: "name the file of the workload's token, or a command that prints it and nothing else",
    });
  const end = endOf(assertion);
  if (end !== undefined && end <= context.clock.now())
    throw new NotSignedInError(`the workload's token expired at ${new Date(end).toISOString()}`, {
      details: ['it comes from HOOKTRAIL_CLIENT_ASSERTION_FILE or HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
      next: 'have the platform renew it, or name a command that asks for a new one',
    });
  return assertion;
}

/**
 * Returns a token's expiry in milliseconds since the epoch (RFC 7519 section 4.1.4); undefined if unknown.
 */
function endOf(token: string): number | undefined {
  const { exp } = claimsOf(token);
  const end = typeof exp === 'number' ? exp * 1000 : Number.NaN;
  return Number.isNaN(new Date(end).getTime()) ? undefined : end;
}

/**
 * Returns the claims of a JSON Web Token, not verified; none if they cannot be read, as in an encrypted one.
 */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) ?? {};
  } catch {
    return {};
  }
}

/** RFC 7523 section 2.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Lifetime of an assertion signed here. */
const ASSERTION_SECONDS = 60;

export function keptProof(proof: ClientProof): Pick<Secrets, 'clientSecret' | 'client'> {
  return proof.method === 'secret' ? { clientSecret: proof.secret } : { client: proof.method };
}

/** Converts a credential for the library. `now`: milliseconds since the epoch. */
export function libraryProof(proof: ClientProof, oauth: typeof OAuth, now: number): OAuth.ClientAuth {
  switch (proof.method) {
    case 'secret':
      return oauth.ClientSecretPost(proof.secret);
    case 'none':
      return oauth.None();
    case 'assertion':
      return async (_server, client, body) => {
        body.set('client_id', client.client_id);
        body.set('client_assertion_type', ASSERTION_TYPE);
        body.set('client_assertion', await proof.read());
      };
    case 'key': {
      const issuedAt = Math.floor(now / 1000);
      const { key, id: kid } = proof.key;
      return oauth.PrivateKeyJwt(kid === undefined ? { key } : { key, kid }, {
        [oauth.modifyAssertion]: (_header, payload) => {
          payload['aud'] = proof.audience;
          payload['iat'] = issuedAt;
          payload['exp'] = issuedAt + ASSERTION_SECONDS;
          // A provider whose clock is a second behind would refuse the assertion for `nbf`, which RFC 7523
          // does not require.
          delete payload['nbf'];
        },
      });
    }
  }
}

export const methodWords: { readonly [Method in ProofMethod]: string } = {
  secret: 'by its secret',
  key: 'by its private key',
  assertion: "by the workload's token",
  none: 'a public client, without a secret',
};

const REFUSED: { readonly [Method in Exclude<ProofMethod, 'secret'>]: Advice } = {
  key: 'check --client-id, that the provider has the public half of the key in HOOKTRAIL_CLIENT_KEY_FILE, its id (HOOKTRAIL_CLIENT_KEY_ID), and the name of the provider (--issuer), which is the audience',
  assertion:
    "check --client-id, and that the provider trusts the workload's token for it: its issuer, subject and audience",
  none: advise`check --client-id, and that the provider has it as a public client; one with a secret signs in with ${hooktrail('login --client-secret-stdin')}`,
};

export function refusedStep(method: ProofMethod, secret: Advice): Advice {
  return method === 'secret' ? secret : REFUSED[method];
}
