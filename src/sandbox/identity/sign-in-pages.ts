import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { Behaviour } from '../sandbox-options.ts';

const style = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5a6474;--line:#d5dae2;--card:#fff;--ground:#eef1f5;--accent:#1f5fbf;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf3;--soft:#a3adbd;--line:#39424f;--card:#1b212b;--ground:#10141a;--accent:#7fb2ff;--on-accent:#0b1a30}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:26rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.75rem}
h1{margin:0 0 .25rem;font-size:1.35rem}
p{margin:0 0 1rem}
ul{margin:0 0 1.25rem;padding:0;list-style:none;border-top:1px solid var(--line)}
li{padding:.6rem 0;border-bottom:1px solid var(--line)}
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}
small,.note{color:var(--soft);font-size:.875rem}
li small{display:block}
label{display:block;font-weight:600;margin-bottom:.35rem}
input{width:100%;padding:.6rem .7rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--soft);border-radius:.4rem}
.actions{display:flex;gap:.75rem;margin:1.25rem 0}
button{flex:1;padding:.65rem;font:inherit;font-weight:600;border-radius:.4rem;border:1px solid var(--soft);background:transparent;color:inherit;cursor:pointer}
button.main{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.note{margin:0}
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** Escapes the characters that have a meaning in HTML, for attributes too. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A page of the identity provider; `main` is HTML. */
function renderPage(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

/**
 * Returns the headers for such a page. A form may be sent to the page's own origin (`self`), and with a URL also be
 * redirected there, since Chromium applies `form-action` to a form's redirects too.
 */
export function pageHeaders(formTarget?: 'self' | (string & {})): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    `form-action ${formSources(formTarget)}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
}

function formSources(target: string | undefined): string {
  if (target === undefined) return "'none'";
  if (target === 'self') return "'self'";
  const { protocol, hostname, origin } = new URL(target);
  // CSP has no IPv6 literals (CSP3 section 2.3.1), so the scheme is used for them.
  return `'self' ${hostname.startsWith('[') || origin === 'null' ? protocol : origin}`;
}

const meanings: Readonly<Record<string, string>> = {
  event_api: 'Read event types, events and their delivery status',
  offline_access: 'Stay signed in while you are away',
};

interface AccessRequest {
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** An authorization request. The decision is sent by POST to `action`. */
export interface SignInRequest extends AccessRequest {
  readonly action: string;
  readonly redirectUri: string;
}

/** A device that shows this code. The decision is sent by GET. */
export interface DeviceRequest extends AccessRequest {
  readonly userCode: string;
}

/** Returns the page on which a person gives a client access. */
export function signInPage(request: SignInRequest | DeviceRequest): string {
  const scopes = request.scopes.map((scope) => {
    const meaning = meanings[scope];
    const text = meaning
      ? `${escapeHtml(meaning)} <small><code>${escapeHtml(scope)}</code></small>`
      : `<code>${escapeHtml(scope)}</code>`;
    return `<li>${text}</li>`;
  });
  const isDevice = 'userCode' in request;
  const form = isDevice
    ? `<form>\n<input type="hidden" name="user_code" value="${escapeHtml(request.userCode)}">`
    : `<form method="post" action="${escapeHtml(request.action)}">`;
  const note = isDevice
    ? `The device shows the code <code>${escapeHtml(request.userCode)}</code>.`
    : `You return to <code>${escapeHtml(request.redirectUri)}</code>.`;
  return renderPage(
    'Sign in – sandbox',
    `<h1>Sign in</h1>
<p><strong>${escapeHtml(request.clientId)}</strong> asks for access to your account:</p>
<ul>
${scopes.join('\n')}
</ul>
${form}
<label for="user">User name</label>
<input id="user" name="user" value="support@example.com" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<div class="actions">
<button class="main" name="decision" value="approve">Sign in</button>
<button name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
<p class="note">A sandbox: any user name works. ${note}</p>`,
  );
}

/** Returns the page on which a person types the code that a device shows. */
export function deviceCodePage(): string {
  return renderPage(
    'Sign in a device – sandbox',
    `<h1>Sign in a device</h1>
<form>
<label for="code">Code that the device shows</label>
<input id="code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20">
<div class="actions">
<button class="main">Continue</button>
</div>
</form>`,
  );
}

/** Returns the page after the decision about a device. */
export function deviceDonePage(title: string, text: string): string {
  return renderPage(`${title} – sandbox`, `<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(text)}</p>`);
}

/** Returns the page for an authorization request that can be neither carried out nor answered by a redirect. */
export function errorPage(error: string, description: string): string {
  return renderPage(
    'Sign-in not possible – sandbox',
    `<h1>Sign-in not possible</h1>
<p>${escapeHtml(description)}</p>
<p class="note">Error <code>${escapeHtml(error)}</code></p>`,
  );
}

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
