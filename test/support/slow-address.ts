import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Connections that a listener with this backlog keeps before it accepts any. */
const BACKLOG = 1;

/** A thread that listens, and then does nothing until it is let go on. */
const LISTENER = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nlate'));
});
server.listen({ host: '127.0.0.1', port: 0, backlog: ${BACKLOG} }, () => {
  parentPort.postMessage(server.address().port);
  setImmediate(() => Atomics.wait(workerData, 0, 0));
});
`;

/**
 * Listens on 127.0.0.1 at a port whose connections are not answered before `accept` is called, as on a long
 * way: the backlog is full.
 */
export async function startSlowAddress() {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(LISTENER, { eval: true, workerData: gate });
  const [port] = (await once(worker, 'message')) as [number];
  const fillers: Socket[] = [];
  for (let filled = 0; filled <= BACKLOG; filled++) {
    const filler = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    await once(filler, 'connect');
    fillers.push(filler);
  }
  const accept = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    for (const filler of fillers) filler.destroy();
  };
  return {
    port,
    accept,
    async [Symbol.asyncDispose]() {
      accept();
      await worker.terminate();
    },
  };
}
