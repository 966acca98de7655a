/** A member of a search answer. The service requires none of them (service description, part 2). */
export type CollectionMember = 'href' | 'previous' | 'first' | 'next' | 'count' | 'limit' | 'items';

/** How paging links are written; the service shows none of it. `loop` points `next` at the first page. */
export type LinkStyle =
  | 'absolute'
  | 'relative'
  | 'query-only'
  | 'other-origin'
  | 'user-info'
  | 'loop'
  | 'same-page'
  | 'none';

/** What the service description leaves open, changeable while the sandbox runs. */
export interface Behaviour {
  latencyMs: number;
  /** Requests a second; 0 is no limit. */
  rateLimit: number;
  /** Whether a 429 carries `Retry-After`. */
  retryAfter: boolean;
  faultRate: number;
  compress: boolean;
  /** Members left out of search answers. */
  omit: readonly CollectionMember[];
  /** Pages hold no more items than this, whatever was asked for. */
  maxPageSize: number;
  links: LinkStyle;
  /** Answers of the event service are indented over several lines. */
  pretty: boolean;
  /** How far the service's clock is ahead: added to the `Date` header and to the creation time of new events. */
  clockOffsetMs: number;
  autoApprove: boolean;
  tokenLifetimeSeconds: number;
  /** `iss` on the redirect: left as it is (undefined), left out (null), or replaced. */
  redirectIssuer: string | null | undefined;
  /** Whether token answers carry a refresh token. */
  refreshTokens: boolean;
  /** Characters of padding in each access token. */
  accessTokenPadding: number;
}
