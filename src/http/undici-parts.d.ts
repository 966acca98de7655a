declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}
declare module 'undici/lib/core/socks5-client.js' {
  import type { EventEmitter } from 'node:events';
  import type { Socket } from 'node:net';

  /** Emits `authenticated` after `handshake()`, `connected` after `connect()`, and `error`. */
  export class Socks5Client extends EventEmitter {
    constructor(socket: Socket, credentials: { username?: string; password?: string });
    handshake(): void;
    connect(hostname: string, port: number): void;
  }
}
