import { keptProof } from '../client-authentication.ts';
import { clientScopes, NEW_CLIENT, requestAsClient } from '../client-credentials.ts';
import { type Provider, withProvider } from '../token-endpoint.ts';
import { keepSignIn } from './keep-sign-in.ts';
import type { Attempt, SignInSetup } from './login-attempt.ts';

export async function signInAsClient(
  { settings, proof, vault }: SignInSetup,
  attempt: Attempt,
): Promise<void> {
  const ask = (provider: Provider) => requestAsClient(provider, proof);
  const access = await withProvider(settings, attempt, ask, { advice: NEW_CLIENT });
  const secrets = { ...keptProof(proof), access, grant: 'client_credentials' } as const;
  const asked = clientScopes(settings);
  await keepSignIn(secrets, { settings, proof, vault }, attempt, { asked, after: 'renewed when needed' });
}
