import type * as OAuth from 'oauth4webapi';
import type { Context } from '../context.ts';
import { givenSecret } from '../secrets/given-secret.ts';
import type { Secrets } from '../secrets/vault.ts';

/** What a client proves to the provider with that it is itself (RFC 6749 section 2.3). */
export type ClientProof =
  /** A secret that both know, sent in the body as the service description has it. */
  { readonly method: 'secret'; readonly secret: string };

/** Returns what the client of a stored sign-in proves itself with: the environment comes first, as for every setting. */
export async function storedProof(stored: Secrets | undefined, context: Context): Promise<ClientProof> {
  const secret = (await givenSecret('HOOKTRAIL_CLIENT_SECRET', context)) ?? stored?.clientSecret;
  // Every sign-in with a secret stores it.
  return { method: 'secret', secret: secret ?? '' };
}

/** Returns the library's form of a proof. */
export function libraryProof(proof: ClientProof, oauth: typeof OAuth): OAuth.ClientAuth {
  return oauth.ClientSecretPost(proof.secret);
}
