import type { Clock } from '../context.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { redactedHeaders, redactedUrl } from './redaction.ts';
import type { Transport } from './transport.ts';

/** The same transport, with a line a request for `--verbose` and the headers for `--debug`; secrets never show. */
export function traced(transport: Transport, reporter: Reporter, clock: Clock): Transport {
  if (!reporter.verbose) return transport;
  return {
    prepare: (url) => transport.prepare(url),
    close: () => transport.close(),
    async send(request) {
      const began = clock.now();
      const line = (outcome: string) =>
        reporter.trace(`${request.method} ${redactedUrl(request.url)} ${outcome} ${clock.now() - began} ms`);
      const headers = (mark: string, list: string[]) => {
        if (reporter.debug) for (const header of list) reporter.trace(`${mark} ${header}`);
      };
      try {
        const response = await transport.send(request);
        line(String(response.status));
        headers('>', redactedHeaders(request.headers ?? {}));
        headers('<', redactedHeaders(response.headers, bearer(request.headers?.['authorization'])));
        return response;
      } catch (error) {
        line(`failed: ${error instanceof Error ? error.message : String(error)}`);
        headers('>', redactedHeaders(request.headers ?? {}));
        throw error;
      }
    },
  };
}

/** Some services send back what they were sent. */
function bearer(authorization: string | undefined): string | undefined {
  return authorization?.replace(/^Bearer /, '');
}
