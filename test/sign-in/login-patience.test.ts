import { expect, test } from 'vitest';
import { listenForRedirect } from '../../src/sign-in/redirect-listener.ts';
import { ask, changed } from '../support/browser.ts';
import { clock } from '../support/clock.ts';

const expected = { state: 'the-state', issuer: 'https://id.example', clientId: 'me' };
const anyPort = { text: 'http://127.0.0.1:0/callback', url: new URL('http://127.0.0.1:0/callback') };
const nobody = () => undefined;
const good = { state: expected.state, iss: expected.issuer, code: 'abc' };

test('a browser is not kept waiting for an exchange that takes too long', async () => {
  const port = await listenForRedirect(anyPort);
  const waited: number[] = [];
  const clock = { sleep: async (milliseconds: number) => void waited.push(milliseconds) };
  const reception = port.receive(expected, clock, nobody);
  const { body } = await ask(changed(port.redirectUri.url, good));
  expect(body).toContain('The terminal finishes the sign-in.');
  expect(waited[0]).toBe(10_000);
  expect(await reception.answer).toMatchObject({ kind: 'code' });
  await reception.conclude('signedIn');
  // A reload between the outcome and the end of the program sees the outcome.
  expect((await ask(changed(port.redirectUri.url, good))).body).toContain('<h1>Signed in</h1>');
  port.close();
});

test('the first of two answers counts, whatever the second says', async () => {
  const port = await listenForRedirect(anyPort);
  const reception = port.receive(expected, { sleep: async () => undefined }, nobody);
  await ask(changed(port.redirectUri.url, good));
  await ask(changed(port.redirectUri.url, { ...good, code: undefined, error: 'access_denied' }));
  expect(await reception.answer).toMatchObject({ kind: 'code' });
  port.close();
});

test('a tab that was reloaded while the code was exchanged gets the outcome', async () => {
  const port = await listenForRedirect(anyPort);
  clock.skips = 0;
  const reception = port.receive(expected, clock, nobody);
  const first = new AbortController();
  const url = changed(port.redirectUri.url, good);
  const left = fetch(url, { signal: first.signal }).catch((error: Error) => error.name);
  await reception.answer;
  // The reload closes the first connection before it opens another.
  first.abort();
  expect(await left).toBe('AbortError');
  // By the time that a later request is answered, the listener has seen that.
  expect((await ask(new URL('/favicon.ico', url))).status).toBe(404);
  const concluded = reception.conclude('signedIn').then(() => port.close());
  expect((await ask(url)).body).toContain('<h1>Signed in</h1>');
  await concluded;
});
