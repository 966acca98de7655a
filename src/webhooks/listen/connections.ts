import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds that a sender in mid-body gets when the server stops: it sends the delivery again. */
const HALF_SENT = 1_000;

/** The connections of a server, told apart by whether they carry a request: Node tells only who has never sent one. */
export class Connections {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #underWay = new Set<ServerResponse>();

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Requests that wait for their answer. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Takes note of a request until its answer is out. */
  begin(response: ServerResponse): void {
    this.#underWay.add(response);
    response.once('close', () => this.#underWay.delete(response));
  }

  /** Takes no more connections, gives whole requests under way `grace` milliseconds, and frees the port. */
  async stop(grace: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const busy = new Set(Array.from(this.#underWay, ({ req }) => req.socket));
    for (const socket of this.#open) if (!busy.has(socket)) socket.destroy();
    const timers = [
      setTimeout(() => {
        for (const { req } of this.#underWay) if (!req.complete) req.destroy();
      }, HALF_SENT),
      setTimeout(() => this.#server.closeAllConnections(), grace),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }
}
