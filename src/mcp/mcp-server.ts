import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { deserializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CancelledNotificationSchema,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { version } from '../version.ts';
import { registerTools, UNTRUSTED } from './mcp-tools.ts';

/** Time to finish the outstanding answers after the input ends: the peer may be gone. */
const PARTING_MS = 5_000;
/**
 * Between two pings (Model Context Protocol, Utilities): only a write finds that the peer has closed our
 * output.
 */
const PING_INTERVAL_MS = 6_000;

/**
 * Serves the read-only commands over the Model Context Protocol until the peer disconnects or the program is
 * stopped.
 */
export async function serveMcp(call: Call): Promise<void> {
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
  const transport = new LineTransport(context.stdout);
  await server.connect(transport);
  const leaving = new AbortController();
  const pinging = pingRegularly(server, context, leaving.signal);
  try {
    for await (const line of context.stdin.lines(context.signal)) await transport.receive(line);
    context.signal.throwIfAborted();
    // Requests that arrived just before the end of the input are answered, too.
    const late = context.clock.sleep(PARTING_MS, AbortSignal.any([context.signal, leaving.signal]));
    await Promise.race([transport.answered(), late]);
  } finally {
    leaving.abort(new Error('over'));
    await server.close();
    await pinging;
  }
}

async function pingRegularly({ server }: McpServer, { clock }: Context, leaving: AbortSignal): Promise<void> {
  while (!leaving.aborted) {
    await clock.sleep(PING_INTERVAL_MS, leaving).catch(() => undefined);
    // The peer's answer does not matter, nor whether there is one.
    if (!leaving.aborted) server.ping().catch(() => undefined);
  }
}

/**
 * Sends the protocol's messages as lines over an output that handles slow readers and closed pipes. The SDK's
 * own transport writes to the process's stream, whose errors would end the process.
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

  /** Answers a line that is no message with an error (JSON-RPC 2.0 section 5.1). */
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
    if ('method' in message && 'id' in message) this.#unanswered.add(message.id);
    // A request that is cancelled gets no answer (Model Context Protocol, Cancellation).
    const cancelled = CancelledNotificationSchema.safeParse(message).data?.params.requestId;
    if (cancelled !== undefined) this.#forget(cancelled);
    this.onmessage?.(message);
  }

  /** Resolves when every request that was received has its answer. */
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
