import { describe, expect, test } from 'vitest';
import { IdentityMemory } from '../../src/sandbox/identity/identity-memory.ts';
import { clock } from '../support/clock.ts';

const memory = () => {
  const kept = new IdentityMemory(
    () => clock.now(),
    () => new Error('spent already'),
  );
  return { kept, tokens: kept.adapter('RefreshToken') };
};

describe('identity memory', () => {
  test('lets a token be spent once, even by two requests that both found it unspent', async () => {
    const { kept, tokens } = memory();
    await kept.adapter('AccessToken').upsert('b', { grantId: 'g' }, 60);
    await tokens.upsert('a', { grantId: 'g' }, 60);
    const found = await Promise.all([tokens.find('a'), tokens.find('a')]);
    expect(found.map((one) => one?.consumed)).toEqual([undefined, undefined]);
    const spent = await Promise.allSettled([tokens.consume('a'), tokens.consume('a')]);
    expect(spent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect([await tokens.find('a'), await kept.adapter('AccessToken').find('b')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('forgets expired entries', async () => {
    const { tokens } = memory();
    await tokens.upsert('a', {}, -1);
    expect(await tokens.find('a')).toBeUndefined();
  });

  test('forgets a grant with everything issued for it, and nothing else', async () => {
    const { kept, tokens } = memory();
    await kept.adapter('Grant').upsert('g', {}, 60);
    await tokens.upsert('a', { grantId: 'g' }, 60);
    await tokens.upsert('b', { grantId: 'h' }, 60);
    kept.revoke('g');
    expect([await kept.adapter('Grant').find('g'), await tokens.find('a')]).toEqual([undefined, undefined]);
    expect(await tokens.find('b')).toEqual({ grantId: 'h' });
  });
});
