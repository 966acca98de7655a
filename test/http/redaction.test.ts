import { expect, test } from 'vitest';
import { redactHeaders, redactUrl } from '../../src/http/redaction.ts';

test('secret headers lose their values, others stay', () => {
  expect(
    redactHeaders({
      Authorization: 'Bearer s3cret',
      'api-token': 's3cret',
      'Set-Cookie': ['s3cret'] as never,
      'x-client-secret': 's3cret',
      accept: 'application/json',
    }),
  ).toEqual([
    'Authorization: Bearer [redacted]',
    'api-token: [redacted]',
    'Set-Cookie: [redacted]',
    'x-client-secret: [redacted]',
    'accept: application/json',
  ]);
});

test('secret query parameters and user information lose their values', () => {
  expect(redactUrl(new URL('https://u:p@id.example.com/cb?code=abc&scope=x&state=def&iss=y'))).toBe(
    'https://id.example.com/cb?code=[redacted]&scope=x&state=[redacted]&iss=y',
  );
  const search =
    'https://e.example.com/integrator-events?gt(createdOn,2026-11-01)&eq(eventType,a%26code%3Db)&limit(1,5)';
  expect(redactUrl(new URL(search))).toBe(search);
});

test('tokens repeated in other headers and in redirects lose their values', () => {
  expect(
    redactHeaders({
      'x-echo': 'Bearer s3cret-token',
      'www-authenticate':
        'Bearer error="invalid_token", error_description="bearer eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln is bad"',
      location: '/callback?code=s3cret#access_token=s3cret&x=1',
    }),
  ).toEqual([
    'x-echo: Bearer [redacted]',
    'www-authenticate: Bearer error="invalid_token", error_description="bearer [redacted] is bad"',
    'location: /callback?code=[redacted]#access_token=[redacted]&x=1',
  ]);
});
