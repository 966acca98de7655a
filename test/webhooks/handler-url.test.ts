import { expect, test } from 'vitest';
import { handlerUrl } from '../../src/webhooks/webhook-flags.ts';

const parse = handlerUrl('--forward-to');

test.each([
  ['3000', 'http://127.0.0.1:3000/'],
  ['18500/in', 'http://127.0.0.1:18500/in'],
  ['3000/in?tenant=1', 'http://127.0.0.1:3000/in?tenant=1'],
  ['localhost:3000', 'http://localhost:3000/'],
  ['localhost:3000/hooks', 'http://localhost:3000/hooks'],
  ['127.0.0.1:3000', 'http://127.0.0.1:3000/'],
  ['[::1]:3000/in', 'http://[::1]:3000/in'],
  ['https://hooks.example.com/in', 'https://hooks.example.com/in'],
])('%s names the handler %s', (text, url) => {
  expect(parse(text).href).toBe(url);
});

test.each([
  ...['70000', '70000/in', '3000in', '3000:in', 'example.com:3000', 'localhost', ''],
  // A resolver may answer with another machine, which would get the Api-Token in the clear.
  ...['http://x.localhost', 'http://x.localhost:3000/in', 'https://x.localhost', 'http://localhost./'],
])('%j does not name a handler', (text) => {
  expect(() => parse(text)).toThrow(`--forward-to: invalid value '${text}': must be `);
});
