import type { FetchPage, PageClient } from './page.ts';

/** Limits a client to `width()` concurrent requests in total. Waiting requests are sent in order. */
export function inSlots(client: PageClient, width: () => number): PageClient {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const giveSlots = () => {
    while (taken < width()) {
      const next = waiting.shift();
      if (!next) return;
      taken++;
      next();
    }
  };
  const fetchPage: FetchPage = async (url, signal) => {
    const slot = new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    giveSlots();
    await slot;
    try {
      signal?.throwIfAborted();
      return await client.fetchPage(url, signal);
    } finally {
      taken--;
      giveSlots();
    }
  };
  return { ...client, fetchPage };
}
