import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { Behaviour } from '../options.ts';
import { errorPage, pageHeaders, signInPage } from './sign-in-pages.ts';

const LARGEST_FORM = 16_384;

/** The interaction of `oidc-provider`: shows the sign-in page and carries out the person's decision. */
export function createSignIn(provider: Provider, behaviour: Behaviour, resource: string) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const details = await provider.interactionDetails(request, response).catch(() => undefined);
    if (!details) {
      response.writeHead(400, pageHeaders());
      response.end(errorPage('invalid_request', 'This sign-in has ended. Please start it again.'));
      return;
    }
    const scopes = String(details.params['scope'] ?? '')
      .split(' ')
      .filter(Boolean);
    if (behaviour.autoApprove) return approve('support@example.com');
    if (request.method === 'POST') {
      const form = await readForm(request);
      if (form.get('decision') === 'approve')
        return approve(form.get('user')?.trim() || 'support@example.com');
      const denied = { error: 'access_denied', error_description: 'the sign-in was cancelled' };
      return provider.interactionFinished(request, response, denied, { mergeWithLastSubmission: false });
    }
    const redirectUri = String(details.params['redirect_uri']);
    response.writeHead(200, pageHeaders(redirectUri));
    response.end(
      signInPage({
        action: request.url ?? '',
        clientId: String(details.params['client_id']),
        scopes,
        redirectUri,
      }),
    );

    async function approve(accountId: string): Promise<void> {
      const clientId = String(details?.params['client_id']);
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope(
        scopes.filter((scope) => scope === 'openid' || scope === 'offline_access').join(' '),
      );
      grant.addResourceScope(resource, scopes.filter((scope) => scope === 'event_api').join(' '));
      const result = { login: { accountId, remember: false }, consent: { grantId: await grant.save() } };
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    }
  };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_FORM) break;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
