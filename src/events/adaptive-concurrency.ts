import type { OnRetry } from '../http/retry.ts';

/** How many requests may be under way; a service that asks for less (429) gets half as many from then on. */
export interface AdaptiveConcurrency {
  readonly width: () => number;
  readonly onRetry: OnRetry;
}

export function adaptiveConcurrency(most: number): AdaptiveConcurrency {
  let width = most;
  return {
    width: () => width,
    onRetry: ({ status }) => {
      if (status === 429) width = Math.max(1, Math.floor(width / 2));
    },
  };
}
