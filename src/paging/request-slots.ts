import type { FetchPage, PageClient } from './page.ts';

/**
 * The same client with at most `width()` requests at once, whoever asks. Those that wait are sent in the
 * order in which they were asked for.
 */
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
