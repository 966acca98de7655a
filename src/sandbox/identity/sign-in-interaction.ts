import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { Behaviour } from '../sandbox-options.ts';
import { deviceCodePage, deviceDonePage, errorPage, pageHeaders, signInPage } from './sign-in-pages.ts';

const LARGEST_FORM = 16_384;
const DEFAULT_USER = 'support@example.com';

/** The interaction of `oidc-provider`: shows the sign-in page and carries out the person's decision. */
export function createSignIn(provider: Provider, behaviour: Behaviour, resource: string) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const details = await provider.interactionDetails(request, response).catch(() => undefined);
    if (!details) {
      response.writeHead(400, pageHeaders());
      response.end(errorPage('invalid_request', 'This sign-in has ended. Please start it again.'));
      return;
    }
    if (behaviour.autoApprove) return approve(DEFAULT_USER);
    if (request.method === 'POST') {
      const form = await readForm(request);
      if (form.get('decision') === 'approve') return approve(form.get('user')?.trim() || DEFAULT_USER);
      const denied = { error: 'access_denied', error_description: 'the sign-in was cancelled' };
      return provider.interactionFinished(request, response, denied, { mergeWithLastSubmission: false });
    }
    const redirectUri = String(details.params['redirect_uri']);
    response.writeHead(200, pageHeaders(redirectUri));
    response.end(
      signInPage({
        action: request.url ?? '',
        clientId: String(details.params['client_id']),
        scopes: scopesOf(details.params),
        redirectUri,
      }),
    );

    async function approve(accountId: string): Promise<void> {
      const consent = { grantId: await saveGrant(provider, resource, details?.params ?? {}, accountId) };
      const result = { login: { accountId, remember: false }, consent };
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    }
  };
}

type DeviceCode = InstanceType<Provider['DeviceCode']>;

/**
 * The page at which a person approves the sign-in of a device (RFC 8628 section 3.3). It takes the decision by GET, so that a
 * test can approve with a link.
 */
export function createDeviceApproval(provider: Provider, resource: string) {
  async function approve(code: DeviceCode, accountId = DEFAULT_USER): Promise<void> {
    const grantId = await saveGrant(provider, resource, code.params ?? {}, accountId);
    Object.assign(code, { accountId, grantId, resource, scope: code.params?.['scope'] });
    await code.save();
  }

  async function page(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const answer = (status: number, text: string) => {
      response.writeHead(status, pageHeaders('self'));
      response.end(text);
    };
    const userCode = query.get('user_code');
    if (!userCode) return answer(200, deviceCodePage());
    const code = await provider.DeviceCode.findByUserCode(userCode.toUpperCase().replace(/\W/g, ''));
    if (!code || code.accountId || code.error)
      return answer(400, errorPage('invalid_request', 'This code is unknown, or it was already used.'));
    const decision = query.get('decision');
    if (decision === 'approve') {
      await approve(code, query.get('user')?.trim());
      return answer(200, deviceDonePage('You are signed in', 'The device continues by itself.'));
    }
    if (decision === 'cancel') {
      Object.assign(code, { error: 'access_denied', errorDescription: 'the sign-in was cancelled' });
      await code.save();
      return answer(200, deviceDonePage('Cancelled', 'The device is not signed in.'));
    }
    return answer(
      200,
      signInPage({ userCode, clientId: String(code.clientId), scopes: scopesOf(code.params ?? {}) }),
    );
  }

  return { approve, page };
}

function scopesOf(params: Readonly<Record<string, unknown>>): string[] {
  return String(params['scope'] ?? '')
    .split(' ')
    .filter(Boolean);
}

/** Grants a client the scopes it asked for. Returns the id of the grant. */
async function saveGrant(
  provider: Provider,
  resource: string,
  params: Readonly<Record<string, unknown>>,
  accountId: string,
): Promise<string> {
  const scopes = scopesOf(params);
  const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(scopes.filter((scope) => scope === 'openid' || scope === 'offline_access').join(' '));
  grant.addResourceScope(resource, scopes.filter((scope) => scope === 'event_api').join(' '));
  return grant.save();
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
