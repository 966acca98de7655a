import type { IncomingHttpHeaders } from 'node:http';

export interface OperationRequest {
  readonly headers: IncomingHttpHeaders;
  readonly id: string;
  readonly query: string;
  readonly body: () => Promise<string>;
}

export interface OperationAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text; empty for an answer without content. */
  readonly body: string;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Relative to the base URL, starting with a slash; `{id}` matches one segment. */
  readonly path: string;
  run(request: OperationRequest): OperationAnswer | Promise<OperationAnswer>;
}
