import { describe, expect, test } from 'vitest';
import { IdentityMemory } from '../../src/sandbox/identity/identity-memory.ts';
import { clock } from '../support/clock.ts';

const memory = () => {
  const reused: string[] = [];
  const kept = new IdentityMemory(
    () => clock.now(),
    (grantId) => {
      reused.push(grantId);
      return new Error('reused');
    },
  );
  return { kept, reused, tokens: kept.adapter('RefreshToken') };
};

describe('identity memory', () => {
  test('lets a token be spent once, even by two requests that both found it unspent', async () => {
    const { tokens, reused } = memory();
    await tokens.upsert('a', { grantId: 'g' }, 60);
    const found = await Promise.all([tokens.find('a'), tokens.find('a')]);
    expect(found.map((one) => one?.consumed)).toEqual([undefined, undefined]);
    const spent = await Promise.allSettled([tokens.consume('a'), tokens.consume('a')]);
    expect(spent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(reused).toEqual(['g']);
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

  test('keeps the most recently used entries if there are too many', async () => {
    const { tokens } = memory();
    await tokens.upsert('used', {}, 60);
    await tokens.upsert('unused', {}, 60);
    for (let index = 0; index < 19_999; index++) {
      await tokens.find('used');
      await tokens.upsert(`t${index}`, {}, 60);
    }
    expect([await tokens.find('used'), await tokens.find('unused')]).toEqual([{}, undefined]);
  });
});
