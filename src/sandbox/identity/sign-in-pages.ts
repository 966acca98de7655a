import { createHash } from 'node:crypto';

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
