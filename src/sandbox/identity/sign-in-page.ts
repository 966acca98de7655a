import { escapeHtml, renderPage } from './page.ts';

const meanings: Readonly<Record<string, string>> = {
  event_api: 'Read event types, events and their delivery status',
  offline_access: 'Stay signed in while you are away',
};

export interface SignInRequest {
  readonly action: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

/** The page on which a person agrees to an authorization request. */
export function signInPage(request: SignInRequest): string {
  const scopes = request.scopes.map((scope) => {
    const meaning = meanings[scope];
    const text = meaning
      ? `${escapeHtml(meaning)} <small><code>${escapeHtml(scope)}</code></small>`
      : `<code>${escapeHtml(scope)}</code>`;
    return `<li>${text}</li>`;
  });
  return renderPage(
    'Sign in – sandbox',
    `<h1>Sign in</h1>
<p><strong>${escapeHtml(request.clientId)}</strong> asks for access to your account:</p>
<ul>
${scopes.join('\n')}
</ul>
<form method="post" action="${escapeHtml(request.action)}">
<label for="user">User name</label>
<input id="user" name="user" value="support@example.com" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<div class="actions">
<button class="main" name="decision" value="approve">Sign in</button>
<button name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
<p class="note">A sandbox: any user name works. You return to <code>${escapeHtml(request.redirectUri)}</code>.</p>`,
  );
}

/** The page for an authorization request that cannot be carried out nor sent back. */
export function errorPage(error: string, description: string): string {
  return renderPage(
    'Sign-in not possible – sandbox',
    `<h1>Sign-in not possible</h1>
<p>${escapeHtml(description)}</p>
<p class="note">Error <code>${escapeHtml(error)}</code></p>`,
  );
}
