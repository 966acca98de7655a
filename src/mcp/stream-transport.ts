import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { Context } from '../context.ts';

/**
 * Sends the protocol's messages as lines over the context's streams, which handle slow readers and closed pipes. The
 * SDK's own transport writes to the process's stream, whose errors would end the process.
 */
export class StreamTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  readonly #streams: Pick<Context, 'stdin' | 'stdout'>;
  readonly #unanswered = new Set<RequestId>();
  #onAnswered: (() => void) | undefined;

  constructor(streams: Pick<Context, 'stdin' | 'stdout'>) {
    this.#streams = streams;
  }

  async start(): Promise<void> {}

  /** Reads messages until the peer closes its end. */
  async read(): Promise<void> {
    for await (const line of this.#streams.stdin.lines()) {
      let message: JSONRPCMessage;
      try {
        message = deserializeMessage(line);
      } catch (error) {
        this.onerror?.(error as Error);
        continue;
      }
      if ('method' in message && 'id' in message) this.#unanswered.add(message.id);
      this.onmessage?.(message);
    }
  }

  /** Waits until every request that was read has its answer. */
  async answered(): Promise<void> {
    while (this.#unanswered.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onAnswered = resolve;
      });
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#streams.stdout.write(serializeMessage(message));
    if ('method' in message || message.id === undefined) return;
    this.#unanswered.delete(message.id);
    this.#onAnswered?.();
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}
