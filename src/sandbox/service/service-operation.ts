import type { IncomingHttpHeaders } from 'node:http';

/** A request that has been let in. */
export interface OperationRequest {
  readonly headers: IncomingHttpHeaders;
  /** What stands for `{id}` in the operation's path. */
  readonly id: string;
  /** Raw, without the question mark. */
  readonly query: string;
  /** Reads the whole body. */
  readonly body: () => Promise<string>;
}

export interface OperationAnswer {
  /** Absent: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text; empty for an answer without content. */
  readonly body: string;
}

/** One thing that the service can be asked for. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the base URL, starting with a slash; `{id}` stands for one segment. */
  readonly path: string;
  run(request: OperationRequest): OperationAnswer | Promise<OperationAnswer>;
}
