import {
  deserializeMessage,
  type JSONRPCMessage,
  McpServer,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { version } from '../version.ts';
import { UNTRUSTED } from './mcp-answers.ts';
import { type McpFlags, registerTools } from './mcp-tools.ts';

/** Milliseconds to finish pending answers after the input ends: the peer may be gone. */
const PARTING_MS = 5_000;
/** Milliseconds between two pings: only a write reveals that the peer has closed our output. */
const PING_INTERVAL_MS = 6_000;

const INSTRUCTIONS = `Read-only access to the stored events of an event notification service and to what became of their
webhook deliveries. Count before you read: count_events and event_statistics download no events. ${UNTRUSTED} Where nobody is signed
in, the tools say so: a person has to run \`hooktrail login\`.`;

/**
 * Serves the read-only commands over the Model Context Protocol until the peer disconnects or the program is
 * stopped. The SDK detects the peer's protocol by the first message: 2026-07-28, or the previous one with its
 * `initialize`.
 */
export async function serveMcp(call: Call<McpFlags>): Promise<void> {
  const { context } = call;
  const transport = new LineTransport(context.stdout);
  const leaving = new AbortController();
  let pinging: Promise<void> | undefined;
  const connection = serveStdio(
    ({ era }) => {
      const server = new McpServer({ name: 'hooktrail', version }, { instructions: INSTRUCTIONS });
      registerTools(server, call);
      // From 2026-07-28 on, servers send no requests.
      if (era === 'legacy') pinging ??= pingRegularly(server, context, leaving.signal);
      return server;
    },
    { transport },
  );
  try {
    for await (const line of context.stdin.lines(context.signal)) await transport.receive(line);
    context.signal.throwIfAborted();
    // Also answer requests that arrived just before the end of the input.
    const late = context.clock.sleep(PARTING_MS, AbortSignal.any([context.signal, leaving.signal]));
    await Promise.race([transport.answered(), late]);
  } finally {
    leaving.abort(new Error('over'));
    await connection.close();
    await pinging;
  }
}

/** Utilities, Ping, of the protocol before 2026-07-28. */
async function pingRegularly({ server }: McpServer, { clock }: Context, leaving: AbortSignal): Promise<void> {
  while (!leaving.aborted) {
    await clock.sleep(PING_INTERVAL_MS, leaving).catch(() => undefined);
    // The peer's answer is irrelevant.
    if (!leaving.aborted) server.ping().catch(() => undefined);
  }
}

/**
 * Sends the protocol's messages as lines over an output that handles slow readers and closed pipes. Errors of
 * the stream in the SDK's own transport would end the process.
 */
class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #stdout: Context['stdout'];
  readonly #unanswered = new Set<RequestId>();
  #onAnswered: (() => void) | undefined;

  constructor(stdout: Context['stdout']) {
    this.#stdout = stdout;
  }

  async start(): Promise<void> {}

  /** Answers a line that is not a message with an error (JSON-RPC 2.0 section 5.1). */
  async receive(line: string): Promise<void> {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      const isJson = !(error instanceof SyntaxError);
      const [code, text] = isJson ? [-32600, 'Invalid Request'] : [-32700, 'Parse error'];
      return await this.#write({ jsonrpc: '2.0', id: null, error: { code, message: text } });
    }
    this.#note(message);
    this.onmessage?.(message);
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    // A stream of changes is answered only at its end.
    if ('id' in message && message.method !== 'subscriptions/listen') this.#unanswered.add(message.id);
    // A cancelled request needs no answer.
    if (message.method === 'notifications/cancelled')
      this.#forget(message.params?.['requestId'] as RequestId);
  }

  async answered(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onAnswered = resolve;
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message);
    if ('method' in message || message.id === undefined) return;
    this.#forget(message.id);
  }

  #forget(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#onAnswered?.();
  }

  async #write(message: object): Promise<void> {
    await this.#stdout.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}
