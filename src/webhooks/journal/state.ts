import { IdSet } from './id-set.ts';
import {
  aboutAt,
  joinedAt,
  Kind,
  keyAt,
  type Member,
  RECORD_BYTES,
  type Scanned,
  scan,
  valueAt,
} from './record.ts';

const HOUR = 3600;

/**
 * What the journal's records say, read in the order in which they lie in the file. That order is the same for every
 * process, and so is what follows from it: who has which event, and who is there.
 */
export class JournalState {
  readonly ids: IdSet;
  /** Who has the journal open, as far as the records tell. */
  readonly members = new Map<number, Member>();
  /** Which member hands over which event, by the event's key. */
  readonly claims = new Map<string, number>();
  /** Members that were welcomed, each by those named. */
  readonly welcomes = new Map<number, Set<number>>();
  /** Members that joined since the last look. */
  newcomers: Member[] = [];
  /** Bytes of records that are no use once their process is gone, and of records that have expired. */
  disposable = 0;
  /** Handed-over events by the hour they were handed over in: tells how many a later look would find expired. */
  readonly #hours = new Map<number, number>();
  readonly #oldest: number;

  /** `oldest`: seconds since the epoch; ids journaled before are forgotten. */
  constructor(expected: number, oldest: number) {
    this.ids = new IdSet(expected);
    this.#oldest = oldest;
  }

  /** Applies the whole records in the bytes. */
  read(bytes: Buffer): Scanned {
    return scan(bytes, 0, bytes.length, (kind, at) => this.#apply(bytes, kind, at));
  }

  /** Ids that were journaled before a time, in seconds, to the hour. */
  expiredBy(oldest: number): number {
    let count = 0;
    for (const [hour, number] of this.#hours) if ((hour + 1) * HOUR <= oldest) count += number;
    return count;
  }

  #apply(bytes: Buffer, kind: Kind, at: number): void {
    const value = valueAt(bytes, at);
    if (kind !== Kind.done) this.disposable += RECORD_BYTES;
    switch (kind) {
      case Kind.done:
        this.#done(bytes, at, value);
        return;
      case Kind.claimed: {
        const key = keyAt(bytes, at);
        const text = key.toString('latin1');
        // The first claim in the file has the event; whoever comes later waits.
        if (!this.ids.has(key) && !this.claims.has(text)) this.claims.set(text, value);
        return;
      }
      case Kind.released: {
        const text = keyAt(bytes, at).toString('latin1');
        if (this.claims.get(text) === value) this.claims.delete(text);
        return;
      }
      case Kind.joined: {
        const member = joinedAt(bytes, at);
        this.members.set(member.number, member);
        this.newcomers.push(member);
        return;
      }
      case Kind.welcomed: {
        const by = this.welcomes.get(aboutAt(bytes, at)) ?? new Set();
        this.welcomes.set(aboutAt(bytes, at), by.add(value));
        return;
      }
      case Kind.left:
        this.#without(value);
        return;
      case Kind.gone:
        this.#without(aboutAt(bytes, at));
        return;
    }
  }

  #done(bytes: Buffer, at: number, seconds: number): void {
    if (this.claims.size > 0) this.claims.delete(keyAt(bytes, at).toString('latin1'));
    if (seconds < this.#oldest) this.disposable += RECORD_BYTES;
    else this.add(bytes, at + 1, seconds);
  }

  /** Takes note of an id whose 16 bytes start at `at`. */
  add(bytes: Uint8Array, at: number, seconds: number): void {
    if (!this.ids.add(bytes, at)) return;
    const hour = Math.floor(seconds / HOUR);
    this.#hours.set(hour, (this.#hours.get(hour) ?? 0) + 1);
  }

  #without(member: number): void {
    this.members.delete(member);
    for (const [text, owner] of this.claims) if (owner === member) this.claims.delete(text);
  }
}
