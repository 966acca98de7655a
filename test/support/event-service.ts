import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Behaviour } from './sandbox.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import { authorized, rawGet, signIn } from './sandbox-client.ts';

/** A page of a search, with the members in the service description (part 2). */
export interface Collection {
  href: string;
  previous: string | null;
  first: string | null;
  next: string | null;
  count: number;
  limit: number;
  items: Record<string, string>[];
}

/** One event service for all tests of a file, with 1,200 events. Its behaviour is reset after each test. */
export function useEventService() {
  let sandbox: Sandbox;
  let headers: Record<string, string>;
  let initial: Behaviour;
  beforeAll(async () => {
    sandbox = await startSandbox({ events: 1200, autoApprove: true, now: Date.UTC(2026, 10, 20, 12) });
    headers = authorized(sandbox, (await signIn(sandbox)).access_token);
    initial = { ...sandbox.control.behaviour };
  });
  afterEach(() => void Object.assign(sandbox.control.behaviour, initial));
  afterAll(() => sandbox.close());

  const get = (path: string, changes: Record<string, string> = {}, method = 'GET') =>
    rawGet(sandbox, path, { ...headers, ...changes }, method);
  return {
    get sandbox() {
      return sandbox;
    },
    /** The headers of a request that is signed in. */
    get headers() {
      return headers;
    },
    get,
    async json<T = Collection>(path: string): Promise<T> {
      return JSON.parse((await get(path)).body.toString()) as T;
    },
    async errorOf(path: string, changes: Record<string, string> = {}, method = 'GET') {
      const { status, body } = await get(path, changes, method);
      return { status, ...(JSON.parse(body.toString()) as { code: string; message: string }) };
    },
  };
}
