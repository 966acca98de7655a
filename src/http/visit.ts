import { createTransport } from './undici-transport.ts';

const MAX_REDIRECTS = 10;

/** Opens an address as a browser would, following redirects: signs the demo in to its sandbox, without a browser. */
export async function visit(url: URL, signal: AbortSignal): Promise<void> {
  const transport = createTransport({ environment: {} });
  try {
    let at = url;
    for (let hop = 0; hop < MAX_REDIRECTS; hop++) {
      const { status, headers } = await transport.send({ method: 'GET', url: at, signal });
      if (status < 300 || status > 399 || !headers.location) return;
      at = new URL(headers.location, at.href);
    }
  } finally {
    await transport.close();
  }
}
