import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { deserializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { type Call, untilStopped } from '../command.ts';
import type { Context } from '../context.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { version } from '../version.ts';
import { registerTools, UNTRUSTED } from './mcp-tools.ts';

/** Time to finish the outstanding answers after the input ends: the peer may be gone. */
const PARTING_MS = 5_000;
/** Between two pings (Model Context Protocol, Utilities): only a write finds that the peer has closed our output. */
const PING_INTERVAL_MS = 6_000;

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
    const late = context.clock.sleep(PARTING_MS, AbortSignal.any([context.signal, leaving.signal]));
    await Promise.race([transport.answered(), late]);
  });
  const pinging = pingRegularly(server, context, leaving.signal);
  try {
    await Promise.race([served, untilStopped(context.signal)]);
  } finally {
    leaving.abort(new Error('over'));
    await transport.stopReading();
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
 * Sends the protocol's messages as lines over the context's streams, which handle slow readers and closed pipes. The
 * SDK's own transport writes to the process's stream, whose errors would end the process.
 */
class StreamTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  readonly #lines: AsyncIterator<string>;
  readonly #stdout: Context['stdout'];
  readonly #unanswered = new Set<RequestId>();
  #onAnswered: (() => void) | undefined;

  constructor({ stdin, stdout }: Pick<Context, 'stdin' | 'stdout'>) {
    this.#lines = stdin.lines()[Symbol.asyncIterator]();
    this.#stdout = stdout;
  }

  async start(): Promise<void> {}

  /** Reads messages until the peer closes its end. What is none is answered with an error (JSON-RPC 2.0 section 5.1). */
  async read(): Promise<void> {
    for (;;) {
      const { done, value: line } = await this.#lines.next();
      if (done) return;
      if (line.trim() === '') continue;
      let message: JSONRPCMessage;
      try {
        message = deserializeMessage(line);
      } catch (error) {
        const isJson = !(error instanceof SyntaxError);
        const [code, text] = isJson ? [-32600, 'Invalid Request'] : [-32700, 'Parse error'];
        await this.#write({ jsonrpc: '2.0', id: null, error: { code, message: text } });
        continue;
      }
      if ('method' in message && 'id' in message) this.#unanswered.add(message.id);
      this.onmessage?.(message);
    }
  }

  /** An input that is left open does not keep the process alive then. */
  async stopReading(): Promise<void> {
    await this.#lines.return?.();
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
    await this.#write(message);
    if ('method' in message || message.id === undefined) return;
    this.#unanswered.delete(message.id);
    this.#onAnswered?.();
  }

  async #write(message: object): Promise<void> {
    await this.#stdout.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}
