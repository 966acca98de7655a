import { expect, test } from 'vitest';
import type { Service } from '../../src/http/service.ts';
import { SubscriptionNames } from '../../src/names/subscription-names.ts';
import { clock } from '../support/clock.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';

/** A service that lists nothing, and has one subscription that it may tell of when it is asked for it. */
function serviceWith({ answers }: { readonly answers: boolean }): Service {
  const body = Buffer.from(JSON.stringify({ subscriptionId: ID, callbackUrl: 'https://a.example/in' }));
  const send = async ({ url, signal }: { url: URL; signal: AbortSignal }) => {
    if (url.pathname.endsWith('/mine')) return { status: 200, body: Buffer.from('{"items":[]}') };
    signal.throwIfAborted();
    if (answers) return { status: 200, body };
    return await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  return { baseUrl: new URL('https://events.example.com/v1'), send } as unknown as Service;
}

test('a read that takes minutes leaves time to ask for the names of what was found', async () => {
  const names = new SubscriptionNames(serviceWith({ answers: true }), {
    clock,
    signal: new AbortController().signal,
  });
  clock.advance(60_000);
  await names.learn([ID]);
  expect(names.nameOf(ID)).toBe('a.example/in');
  names.close();
});

test('an answer that does not come is waited for no longer than 1.5 s', async () => {
  const names = new SubscriptionNames(serviceWith({ answers: false }), {
    clock,
    signal: new AbortController().signal,
  });
  const learning = names.learn([ID]);
  clock.advance(1_500);
  await learning;
  expect(names.labelOf(ID)).toBeUndefined();
});
