import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { authorizeUrl, loopback } from '../support/sandbox-client.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ events: 1 });
});
afterAll(() => sandbox.close());

type Cookies = Map<string, string>;

/** Sends one request as a browser without JavaScript; cookies are kept regardless of their path. */
async function visit(url: string, cookies: Cookies, form?: Record<string, string>): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const post = form && { method: 'POST', body: new URLSearchParams(form) };
  const answer = await fetch(url, { redirect: 'manual', headers: { cookie }, ...post });
  for (const set of answer.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(set) as unknown as [string, string, string];
    if (value) cookies.set(name, value);
    else cookies.delete(name);
  }
  return answer;
}

const target = (answer: Response) => new URL(answer.headers.get('location') ?? '', sandbox.settings.authUrl);

async function open(cookies: Cookies = new Map()) {
  const { href } = target(await visit(authorizeUrl(sandbox), cookies));
  const page = await visit(href, cookies);
  return { url: href, page, html: await page.text() };
}

async function submit(
  decision: 'approve' | 'cancel',
  user: string,
  cookies: Cookies = new Map(),
): Promise<URL> {
  const { url } = await open(cookies);
  return target(await visit(target(await visit(url, cookies, { user, decision })).href, cookies));
}

describe('sign-in page', () => {
  test('shows who asks for what, with a form and no external resources', async () => {
    const { page, html } = await open();
    expect(page.status).toBe(200);
    expect(html).toContain('<strong>hooktrail-sandbox</strong> asks for access to your account');
    expect(html).toContain('<code>event_api</code>');
    expect(html).toContain('<code>offline_access</code>');
    expect(html).toContain('value="support@example.com"');
    expect(html).not.toMatch(/<script|src=|@import|url\(/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    );
  });

  test('ends with a code when approved, and with access_denied when cancelled', async () => {
    const approved = await submit('approve', 'Ünï <b>');
    expect(approved.href.startsWith(`${loopback}?`)).toBe(true);
    expect([...approved.searchParams.keys()].sort()).toEqual(['code', 'iss', 'scope', 'state']);
    const cancelled = await submit('cancel', 'x');
    expect(Object.fromEntries(cancelled.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'the sign-in was cancelled',
      state: 'a-state',
      iss: sandbox.settings.issuer,
    });
  });

  test('asks again at each sign-in, and lets another user in', async () => {
    const cookies: Cookies = new Map();
    for (const user of ['one@example.com', 'other@example.com', 'other@example.com']) {
      expect((await submit('approve', user, cookies)).searchParams.has('code')).toBe(true);
    }
    expect((await open(cookies)).page.status).toBe(200);
  });

  test('belongs to the browser that began the sign-in', async () => {
    const { url } = await open();
    const stranger = await fetch(url);
    expect(stranger.status).toBe(400);
    expect(await stranger.text()).toContain('This sign-in has ended');
  });
});
