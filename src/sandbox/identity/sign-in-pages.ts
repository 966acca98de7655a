import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Provider } from 'oidc-provider';
import type { Behaviour } from '../sandbox-options.ts';

const template = readFileSync(new URL('sandbox-page.html', import.meta.url), 'utf8');

export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function renderPage(title: string, main: string): string {
  return template.replaceAll('{{title}}', title).replace('{{main}}', () => main);
}

const meanings: Readonly<Record<string, string>> = {
  event_api: 'Read event types, events and their delivery status',
  offline_access: 'Stay signed in while you are away',
};

/**
 * Returns the page on which a person grants a client access. `form`: HTML of the form's beginning; `note`:
 * the closing sentence.
 */
function consentPage(clientId: unknown, scopes: readonly string[], form: string, note: string): string {
  const items = scopes.map((scope) => {
    const code = `<code>${escapeHtml(scope)}</code>`;
    return `<li>${meanings[scope] ? `${meanings[scope]} <small>${code}</small>` : code}</li>`;
  });
  return renderPage(
    'Sign in',
    `<p><strong>${escapeHtml(String(clientId))}</strong> asks for access to your account:</p>
<ul>
${items.join('\n')}
</ul>
${form}
<label for="user">User name</label>
<input id="user" name="user" value="${DEFAULT_USER}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<div class="actions">
<button class="main" name="decision" value="approve">Sign in</button>
<button name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
<p>A sandbox: any user name works. ${note}</p>`,
  );
}

const deviceCodePage = renderPage(
  'Sign in a device',
  `<form>
<label for="code">Code that the device shows</label>
<input id="code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20">
<div class="actions">
<button class="main">Continue</button>
</div>
</form>`,
);

export function errorPage(error: string, description: string): string {
  return renderPage(
    'Sign-in not possible',
    `<p>${escapeHtml(description)}</p>
<p>Error <code>${escapeHtml(error)}</code></p>`,
  );
}

const DEFAULT_USER = 'support@example.com';

export function createSignIn(provider: Provider, behaviour: Readonly<Behaviour>, resource: string) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const details = await provider.interactionDetails(request, response).catch(() => undefined);
    if (!details) {
      response.writeHead(400, pageHeaders);
      response.end(errorPage('invalid_request', 'This sign-in has ended. Please start it again.'));
      return;
    }
    const { params } = details;
    if (request.method !== 'POST' && !behaviour.autoApprove) {
      const form = `<form method="post" action="${escapeHtml(request.url ?? '')}">`;
      const note = `You return to <code>${escapeHtml(String(params['redirect_uri']))}</code>.`;
      response.writeHead(200, pageHeaders);
      response.end(consentPage(params['client_id'], scopesOf(params), form, note));
      return;
    }
    const answer = new URLSearchParams(behaviour.autoApprove ? 'decision=approve' : await text(request));
    let result: Parameters<Provider['interactionFinished']>[2] = {
      error: 'access_denied',
      error_description: 'the sign-in was cancelled',
    };
    if (answer.get('decision') === 'approve') {
      const accountId = answer.get('user')?.trim() || DEFAULT_USER;
      const grantId = await saveGrant(provider, resource, params, accountId);
      result = { login: { accountId, remember: false }, consent: { grantId } };
    }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
}

type DeviceCode = InstanceType<Provider['DeviceCode']>;

/**
 * The page on which a person approves a device's sign-in (RFC 8628 section 3.3). It takes the decision by
 * GET, so that a test can approve with a link.
 */
export function createDeviceApproval(provider: Provider, resource: string) {
  async function approve(code: DeviceCode, accountId = DEFAULT_USER): Promise<void> {
    const grantId = await saveGrant(provider, resource, code.params ?? {}, accountId);
    Object.assign(code, { accountId, grantId, resource, scope: code.params?.['scope'] });
    await code.save();
  }

  async function page(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const answer = (status: number, html: string) => void response.writeHead(status, pageHeaders).end(html);
    const userCode = query.get('user_code');
    if (!userCode) return answer(200, deviceCodePage);
    const code = await provider.DeviceCode.findByUserCode(userCode.toUpperCase().replace(/\W/g, ''));
    if (!code || code.accountId || code.error)
      return answer(400, errorPage('invalid_request', 'This code is unknown, or it was already used.'));
    const decision = query.get('decision');
    if (decision === 'approve') {
      await approve(code, query.get('user')?.trim());
      return answer(200, renderPage('You are signed in', '<p>The device continues by itself.</p>'));
    }
    if (decision === 'cancel') {
      Object.assign(code, { error: 'access_denied', errorDescription: 'the sign-in was cancelled' });
      await code.save();
      return answer(200, renderPage('Cancelled', '<p>The device is not signed in.</p>'));
    }
    const shown = escapeHtml(userCode);
    const form = `<form>\n<input type="hidden" name="user_code" value="${shown}">`;
    const note = `The device shows the code <code>${shown}</code>.`;
    return answer(200, consentPage(code.clientId, scopesOf(code.params ?? {}), form, note));
  }

  return { approve, page };
}

function scopesOf(params: Readonly<Record<string, unknown>>): string[] {
  return String(params['scope'] ?? '')
    .split(' ')
    .filter(Boolean);
}

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
