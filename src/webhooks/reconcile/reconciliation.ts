import { EventKeys, eventKey } from '../../ids/event-keys.ts';
import { memberPath } from '../../items/field-path.ts';
import type { Items } from '../../items/items.ts';
import { createCursor } from '../../items/known-fields.ts';
import { earlierOf, type Instant, laterOf, milliseconds, parseInstant, utcText } from '../../time/instant.ts';
import type { TimeZone } from '../../time/time-zone.ts';

export type RecordStatus = 'FAILED' | 'SUCCESS' | null;

export interface MissingGroup {
  readonly subscriptionId: string | null;
  /** The start of the hour in the display zone; null for records without a time. */
  readonly hour: string | null;
  readonly status: RecordStatus;
  readonly count: number;
  readonly first: Instant | undefined;
  readonly last: Instant | undefined;
}

/** A run of missing records of a subscription between two received ones. */
export interface Gap {
  readonly subscriptionId: string | null;
  readonly count: number;
  /** Milliseconds since the epoch of the first and last missing record. */
  readonly first: number;
  readonly last: number;
}

export interface ReconciliationResult {
  readonly records: number;
  readonly both: number;
  readonly groups: readonly MissingGroup[];
  readonly gaps: readonly Gap[];
  readonly missing: { readonly records: number; readonly failed: number; readonly succeeded: number };
  readonly failedButReceived: number;
  readonly receivedTwice: number;
  readonly notInWindow: number;
  readonly severalReceivers: number;
  readonly bounds: Bounds;
}

interface Bounds {
  readonly first: Instant | undefined;
  readonly last: Instant | undefined;
}

interface Tally {
  count: number;
  first: Instant | undefined;
  last: Instant | undefined;
}

export class Reconciliation {
  readonly #received: EventKeys;
  readonly #zone: TimeZone;
  readonly #cursor = createCursor(
    ['eventId', 'subscriptionId', 'publishStatus', 'createdOn'].map(memberPath),
  );
  /** Received ids found in the window, with the number of their records. */
  readonly #found = new EventKeys();
  readonly #groups = new Map<string, Tally & Omit<MissingGroup, keyof Tally>>();
  /**
   * By subscription: each record's time in milliseconds, doubled, plus one if it is missing, which sorts as
   * one number.
   */
  readonly #times = new Map<string | null, number[]>();
  readonly #missing = { records: 0, failed: 0, succeeded: 0 };
  #records = 0;
  #failedButReceived = 0;
  #bounds: Bounds = { first: undefined, last: undefined };

  constructor(received: EventKeys, zone: TimeZone) {
    this.#received = received;
    this.#zone = zone;
  }

  /**
   * Takes a page and returns its missing records. `haveFailed`: the outcome of the whole page, if the items
   * lack it.
   */
  see<Some extends Items>(items: Some, haveFailed: boolean | undefined): Some {
    const missing: number[] = [];
    for (let item = 0; item < items.count; item++)
      if (this.#isMissing(items.bytes, items.start(item), haveFailed)) missing.push(item);
    return items.pick(missing);
  }

  result(): ReconciliationResult {
    const { records } = this.#missing;
    let [receivedTwice, severalReceivers] = [0, 0];
    for (const [, times] of this.#received) if (times > 1) receivedTwice++;
    for (const [, count] of this.#found) if (count > 1) severalReceivers++;
    return {
      records: this.#records,
      both: this.#records - records,
      groups: [...this.#groups.values()],
      gaps: [...this.#times].flatMap(([subscriptionId, times]) => gapsOf(subscriptionId, times)),
      missing: this.#missing,
      failedButReceived: this.#failedButReceived,
      receivedTwice,
      notInWindow: this.#received.size - this.#found.size,
      severalReceivers,
      bounds: this.#bounds,
    };
  }

  #isMissing(bytes: Buffer, at: number, haveFailed: boolean | undefined): boolean {
    this.#cursor.read(bytes, at);
    const [eventId, subscription, itemStatus, time] = [0, 1, 2, 3].map(this.#cursor.text);
    const subscriptionId = subscription?.toLowerCase() ?? null;
    const status = haveFailed === undefined ? statusOf(itemStatus) : STATUS_OF_PAGE[`${haveFailed}`];
    const createdOn = time === undefined ? undefined : parseInstant(time);
    const key = eventId === undefined ? undefined : eventKey(eventId);
    const isMissing = key === undefined || !this.#received.has(key);
    this.#records++;
    if (createdOn) this.#noteTime(subscriptionId, createdOn, isMissing);
    if (isMissing) this.#noteMissing(subscriptionId, status, createdOn);
    else {
      this.#found.set(key, (this.#found.get(key) ?? 0) + 1);
      if (status === 'FAILED') this.#failedButReceived++;
    }
    return isMissing;
  }

  #noteTime(subscriptionId: string | null, createdOn: Instant, isMissing: boolean): void {
    const { first, last } = this.#bounds;
    this.#bounds = { first: earlierOf(first, createdOn), last: laterOf(last, createdOn) };
    const times = this.#times.get(subscriptionId) ?? [];
    if (times.length === 0) this.#times.set(subscriptionId, times);
    times.push(2 * milliseconds(createdOn) + (isMissing ? 1 : 0));
  }

  #noteMissing(subscriptionId: string | null, status: RecordStatus, createdOn: Instant | undefined): void {
    this.#missing.records++;
    if (status === 'FAILED') this.#missing.failed++;
    if (status === 'SUCCESS') this.#missing.succeeded++;
    const hour = createdOn ? this.#zone.shown(utcText(createdOn)).replace(MINUTES, ':00:00') : null;
    const id = `${subscriptionId} ${hour} ${status}`;
    const none = { subscriptionId, hour, status, count: 0, first: undefined, last: undefined };
    const group: Tally & Omit<MissingGroup, keyof Tally> = this.#groups.get(id) ?? none;
    group.count++;
    if (createdOn) {
      group.first = earlierOf(group.first, createdOn);
      group.last = laterOf(group.last, createdOn);
    }
    this.#groups.set(id, group);
  }
}

const STATUS_OF_PAGE = { true: 'FAILED', false: 'SUCCESS' } as const;

const MINUTES = /:\d\d:\d\d(?:\.\d+)?/;

function statusOf(text: string | undefined): RecordStatus {
  return text === 'FAILED' || text === 'SUCCESS' ? text : null;
}

/** Fewer missing records in a row are not reported as a gap. */
const MIN_RECORDS_OF_GAP = 2;

function gapsOf(subscriptionId: string | null, times: readonly number[]): Gap[] {
  const gaps: Gap[] = [];
  let run: number[] = [];
  const end = () => {
    const [first] = run;
    const last = run.at(-1);
    if (run.length >= MIN_RECORDS_OF_GAP && first !== undefined && last !== undefined)
      gaps.push({ subscriptionId, count: run.length, first, last });
    run = [];
  };
  let lastReceived: number | undefined;
  for (const doubled of Float64Array.from(times).sort()) {
    const time = Math.floor(doubled / 2);
    if (doubled % 2 === 0) {
      end();
      lastReceived = time;
      // A gap's records are all missing, so it has none from the millisecond of a received one.
    } else if (time !== lastReceived) run.push(time);
  }
  end();
  return gaps;
}
