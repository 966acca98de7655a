import type { Clock } from '../context.ts';
import type { PageClient } from '../paging/page.ts';

export interface ExportClient extends PageClient {
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onForeignLinks: (doubt: string) => void;
}
