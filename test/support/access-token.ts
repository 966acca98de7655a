import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** Signs in to a sandbox that approves at once, by HTTP requests of its own, and returns the access token. */
export async function accessTokenOf({ settings }: Pick<Sandbox, 'settings'>): Promise<string> {
  const { authUrl, clientId, clientSecret, redirectUri, scope } = settings;
  const request = new URLSearchParams({
    client_id: clientId,
    grant_type: 'authorization_code',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
  });
  let at = `${authUrl}/connect/authorize?${request}`;
  while (!at.startsWith(redirectUri)) {
    const response = await fetch(at, { redirect: 'manual' });
    const location = response.headers.get('location');
    if (!location) throw new Error(`no redirect from ${at}: ${response.status} ${await response.text()}`);
    at = new URL(location, at).href;
  }
  const answer = await fetch(`${authUrl}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'authorization_code',
      code: new URL(at).searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
    }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  if (!token) throw new Error(`no access token: ${answer.status}`);
  return token;
}
