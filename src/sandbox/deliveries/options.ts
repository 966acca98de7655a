/** Where and how the sandbox delivers events that are added while it runs. */
export interface DeliveryOptions {
  readonly url: string;
  /** Sent as the `Api-Token` header (service description, part 5). */
  readonly apiToken: string;
  /** Share (0 to 1) of deliveries that are made twice though the first succeeded. */
  readonly duplicates?: number | undefined;
  /** Events a second that the sandbox adds by itself; none when absent. */
  readonly rate?: number | undefined;
  /** Deliveries wait up to this many milliseconds, each a time of its own: that is how they get out of order. 300 when absent. */
  readonly spreadMs?: number | undefined;
  /** Milliseconds before each try after the first; when they are used up, the event is FAILED. */
  readonly retryDelaysMs?: readonly number[] | undefined;
  /** Milliseconds that an endpoint has for its answer; 10 s when absent. */
  readonly timeoutMs?: number | undefined;
}

/** One try to deliver an event. */
export interface DeliveryAttempt {
  readonly eventId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The endpoint's answer; undefined where there was none. */
  readonly status: number | undefined;
  /** Whether this was a second delivery of an event. */
  readonly isCopy: boolean;
}
