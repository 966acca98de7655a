/** Milliseconds for name, connection and TLS together. */
export const CONNECT_TIMEOUT = 10_000;
/** Milliseconds without any progress. */
export const IDLE_TIMEOUT = 30_000;
/** The codings that `content-encoding.ts` undoes. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';
