import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';

/** What the browser's user is told: nothing of the request ever shows. */
export type PageName = 'signedIn' | 'failed' | 'refused' | 'received';

const texts: { readonly [Name in PageName]: readonly [title: string, text: string] } = {
  signedIn: ['Signed in', 'You can close this tab and go back to the terminal.'],
  failed: ['Not signed in', 'Something went wrong. The terminal says what.'],
  refused: ['Not signed in', 'The sign-in was refused. The terminal says why.'],
  received: ['Almost there', 'The terminal finishes the sign-in. You can close this tab.'],
};

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { display: grid; min-height: 90vh; margin: 0; place-content: center; text-align: center; padding: 1rem }
h1 { font-size: 1.75rem; font-weight: 600; margin: 0 }
p { margin: .5rem 0; opacity: .8 }
small { display: block; margin-top: 3rem; opacity: .6; letter-spacing: .05em }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** Kept nowhere, run by nothing, framed by nobody, and silent about the URL it was asked by. */
export const pageHeaders: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

export function page(name: PageName): string {
  const [title, text] = texts[name];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – hooktrail</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
<p>${text}</p>
<small>hooktrail</small>
</main>
</html>
`;
}
