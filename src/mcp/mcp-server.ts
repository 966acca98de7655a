import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { type Call, untilStopped } from '../command.ts';
import type { Context } from '../context.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { version } from '../version.ts';
import { registerTools, UNTRUSTED } from './mcp-tools.ts';

/** Milliseconds to finish the outstanding answers after the input ends: the peer may be gone. */
const PARTING_TIME = 5_000;

/**
 * Serves the read-only commands over the Model Context Protocol until the peer disconnects or the program is stopped.
 */
export async function serveMcp(call: Call<SettingFlags>): Promise<void> {
  const { context } = call;
  const server = new McpServer(
    { name: 'hooktrail', version },
    {
      instructions: `Read-only access to the stored events of an event notification service and to what became of their
webhook deliveries. Count before you read: count_events and event_statistics download no events. ${UNTRUSTED} Where nobody is signed
in, the tools say so: a person has to run \`hooktrail login\`.`,
    },
  );
  registerTools(server, call);
  const transport = new StreamTransport(context);
  await server.connect(transport);
  const leaving = new AbortController();
  // Requests that arrived just before the end of the input are answered, too.
  const served = transport.read().then(async () => {
    const late = context.clock.sleep(PARTING_TIME, AbortSignal.any([context.signal, leaving.signal]));
    await Promise.race([transport.answered(), late]);
  });
  try {
    await Promise.race([served, untilStopped(context.signal)]);
  } finally {
    leaving.abort(new Error('over'));
    await server.close();
  }
}

/**
 * Sends the protocol's messages as lines over the context's streams, which handle slow readers and closed pipes. The
 * SDK's own transport writes to the process's stream, whose errors would end the process.
 */
class StreamTransport implements Transport {
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
