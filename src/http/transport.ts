import type { IncomingHttpHeaders } from 'node:http';
import type { RequestLimits } from '../context.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Only so many bytes of the body are kept, as they are sent; the rest is read and dropped. */
  readonly keepBytes?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The whole body, decompressed; its beginning, if `keepBytes` was given. */
  readonly body: Buffer;
}

/** Sends one request over kept-alive connections; follows no redirect and repeats nothing. */
export interface Transport {
  /** Throws `TransportError`, or the signal's reason when it aborts. */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Loads the parts that requests need; called while the program waits for something else. */
  prepare(): void;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/** A page of 500 events is a few MiB, which takes minutes on slow networks. */
export const PAGE_LIMITS: RequestLimits = {
  connect: 10_000,
  idle: 30_000,
  total: 5 * 60_000,
  bytes: 256 * 1024 * 1024,
};

/** An answer of the token endpoint is a few KiB, and other processes wait for it. */
export const TOKEN_LIMITS: RequestLimits = { ...PAGE_LIMITS, total: 60_000, bytes: 1024 * 1024 };
