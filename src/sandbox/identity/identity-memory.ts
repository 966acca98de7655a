import type { Adapter, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly payload: AdapterPayload;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/**
 * Stores everything that the identity provider issued, including access tokens. `refuse` makes the error for
 * a code or refresh token that was already spent.
 */
export function createIdentityMemory(clock: () => number, refuse: () => Error) {
  const entries = new Map<string, Entry>();

  function revoke(grantId: string): void {
    entries.delete(`Grant:${grantId}`);
    for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key);
  }

  function adapter(kind: string): Adapter {
    const find = async (id: string) => {
      const entry = entries.get(`${kind}:${id}`);
      if (!entry || entry.expires > clock()) return entry?.payload;
      // An expired device code has an error of its own (RFC 8628 section 3.5). The library compares `exp`
      // with the machine's clock.
      return kind === 'DeviceCode' ? { ...entry.payload, exp: 1 } : undefined;
    };
    const findBy = async (name: 'uid' | 'userCode', value: string) =>
      [...entries].find(([key, { payload }]) => key.startsWith(`${kind}:`) && payload[name] === value)?.[1]
        .payload;
    return {
      find,
      upsert: async (id, payload, expiresIn) => {
        // A concurrent request may have ended the grant meanwhile.
        if (payload.grantId && kind !== 'Grant' && !entries.has(`Grant:${payload.grantId}`)) throw refuse();
        const expires = expiresIn ? clock() + expiresIn * 1000 : Number.POSITIVE_INFINITY;
        entries.set(`${kind}:${id}`, { payload, expires });
      },
      consume: async (id) => {
        const payload = entries.get(`${kind}:${id}`)?.payload;
        if (!payload) return;
        if (payload.consumed) {
          // Two simultaneous requests both found it unspent; the second one gets here.
          revoke(String(payload.grantId));
          throw refuse();
        }
        payload.consumed = Math.floor(clock() / 1000);
      },
      destroy: async (id) => void entries.delete(`${kind}:${id}`),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      revokeByGrantId: async (grantId) => revoke(grantId),
    };
  }

  return { entries, adapter };
}
