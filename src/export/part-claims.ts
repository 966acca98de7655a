import type { KeepItems } from '../items/item-filter.ts';
import { createdOnReader } from '../items/item-times.ts';
import type { IdentifiedItems } from '../paging/page.ts';
import { compareInstants } from '../time/instant.ts';
import type { Manifest } from './export-manifest.ts';
import { heldBy, isSettled, overlap, type Part } from './export-part.ts';
import { keysOf, keysWithoutDay } from './part-reader.ts';
import { createDayReader, dayOf, startOfDay } from './partitions.ts';

/*
 * Each part of an export reaches a second into the next older one, and parts are read side by side: an event
 * that several of them meet belongs to the first one that claims it. Parts that were read before have claimed
 * the events in their files.
 */

/** The claims of the parts that one round reads. */
export class PartClaims {
  readonly #directory: string;
  readonly #manifest: () => Manifest;
  readonly #keep: KeepItems | undefined;
  /** Of the parts that are read in this round, by index, as long as others may meet their events. */
  readonly #claims = new Map<number, PartClaim>();
  /** The keys in parts that were read before this round, by index; kept as long as the claims. */
  readonly #there = new Map<number, Promise<ReadonlySet<number>>>();
  /** With partitions, by query: the keys of events without a time, which several parts may meet. */
  readonly #undated = new Map<number, Promise<Set<number>>>();

  constructor(directory: string, manifest: () => Manifest, keep: KeepItems | undefined) {
    this.#directory = directory;
    this.#manifest = manifest;
    this.#keep = keep;
  }

  /** Begins to claim for a part that is to be read. Call `end` when it was read, or could not be. */
  async begin(index: number): Promise<PartClaim> {
    const { parts, partition } = this.#manifest();
    const part = parts[index] as Part;
    const neighbours = this.#neighbours(index);
    const claim = new PartClaim({
      part,
      keep: this.#keep,
      isShared: neighbours.length > 0,
      undated: partition ? () => this.#undatedOf(part.query) : undefined,
      firstDay: partition ? firstDayOf(part, parts) : undefined,
    });
    this.#claims.set(index, claim);
    for (const other of neighbours) await this.#addNeighbour(claim, part, other);
    return claim;
  }

  /** The part was read and is in the manifest, or the round has failed. */
  end(index: number): void {
    this.#claims.get(index)?.end();
    for (const at of [index, ...this.#neighbours(index)]) {
      const { parts } = this.#manifest();
      const isNeeded = [at, ...this.#neighbours(at)].some((one) => !heldBy(parts[one] as Part));
      if (isNeeded) continue;
      this.#claims.delete(at);
      this.#there.delete(at);
    }
  }

  async #addNeighbour(claim: PartClaim, part: Part, index: number): Promise<void> {
    const other = this.#manifest().parts[index] as Part;
    // An update reads events again that settled parts hold. They are removed from the settled parts
    // afterwards.
    if (isSettled(other) && !isSettled(part)) return;
    if (heldBy(other) && !this.#claims.has(index)) {
      const keys = this.#there.get(index) ?? keysOf(this.#directory, [other]);
      this.#there.set(index, keys);
      claim.keysElsewhere.push(await keys);
      return;
    }
    const isOlder = compareInstants(other.before, part.before) < 0;
    // It may begin later than this one.
    claim.neighbours.push({ isOlder, find: () => this.#claims.get(index) });
  }

  #neighbours(index: number): readonly number[] {
    const { parts } = this.#manifest();
    const part = parts[index] as Part;
    return [...parts.keys()].filter((at) => at !== index && overlap(part, parts[at] as Part));
  }

  #undatedOf(query: number): Promise<Set<number>> {
    const known = this.#undated.get(query);
    if (known) return known;
    const { parts } = this.#manifest();
    const read = parts.filter((part) => part.query === query && heldBy(part));
    const keys = keysWithoutDay(this.#directory, read).then((there) => new Set(there));
    this.#undated.set(query, keys);
    return keys;
  }
}

interface Neighbour {
  readonly isOlder: boolean;
  readonly find: () => PartClaim | undefined;
}

interface ClaimOf {
  readonly part: Part;
  readonly keep: KeepItems | undefined;
  /** True if the time of another part overlaps that of this one. */
  readonly isShared: boolean;
  /** With partitions: the keys of events without a time. */
  readonly undated: (() => Promise<Set<number>>) | undefined;
  /** With partitions: events of earlier days belong to another part. */
  readonly firstDay: number | undefined;
}

/** The claim of one part on the events that it meets. */
export class PartClaim {
  /** The keys of events in parts that were read before this round. */
  readonly keysElsewhere: ReadonlySet<number>[] = [];
  /** The keys of the events that this part has taken, if others may meet them. */
  readonly keys = new Set<number>();
  /** Parts of the same round that meet some of the same events. */
  readonly neighbours: Neighbour[] = [];
  readonly #of: ClaimOf;
  readonly #createdOn = createdOnReader();
  readonly #readDay = createDayReader();
  #isFirstPage = true;
  #isPastHead = false;
  #onPastHead: () => void = () => {};
  /**
   * Fulfilled when the part has claimed all of the second that a newer part shares with it, if pages come
   * newest first.
   */
  readonly pastHead: Promise<void>;

  constructor(of: ClaimOf) {
    this.#of = of;
    this.pastHead = new Promise((resolve) => {
      this.#onPastHead = resolve;
    });
  }

  /** Returns the events of the next page that belong to the part, and were not filtered out. */
  async take(items: IdentifiedItems): Promise<IdentifiedItems> {
    await this.#turn();
    const days = this.#of.undated && this.#daysOf(items);
    const undated = days?.includes(undefined) ? await this.#of.undated?.() : undefined;
    // From here to the end nothing waits: no other part can claim the same events meanwhile.
    let own = items;
    if (days) own = this.#ofOwnDays(own, days, undated);
    for (const keys of this.keysElsewhere) own = own.without(keys);
    for (const { find } of this.neighbours) own = own.without(find()?.keys ?? NO_KEYS);
    const due = this.#of.keep?.(own) ?? own;
    if (this.#of.isShared) for (const key of due.keys) this.keys.add(key);
    this.#noticeHead(items);
    return due;
  }

  end(): void {
    this.#isPastHead = true;
    this.#onPastHead();
  }

  /**
   * Waits after the first page until the next older part, if it is read too, is past the second that both
   * meet: it claims that second alone, so that events stay in order from file to file. Only newer parts wait
   * for older ones, so that none waits for ever.
   */
  async #turn(): Promise<void> {
    const isFirst = this.#isFirstPage;
    this.#isFirstPage = false;
    if (isFirst) return;
    for (const { isOlder, find } of this.neighbours) if (isOlder) await find()?.pastHead;
  }

  /** The newest second is past when a page ends with an event that is not in it. */
  #noticeHead(items: IdentifiedItems): void {
    if (this.#isPastHead || items.count === 0) return;
    const last = this.#createdOn(items.bytes, items.start(items.count - 1));
    const end = this.#of.part.before;
    const isInHead = last && last.seconds >= end.seconds - 1 && compareInstants(last, end) < 0;
    if (!isInHead) this.end();
  }

  #daysOf(items: IdentifiedItems): (number | undefined)[] {
    return Array.from({ length: items.count }, (_, item) => this.#readDay(items.bytes, items.start(item)));
  }

  /**
   * Leaves out what belongs to other parts whatever the order in which they are read: events of the second
   * that the part reaches into the day before, and events without a time that another part has.
   */
  #ofOwnDays(
    items: IdentifiedItems,
    days: readonly (number | undefined)[],
    undated: Set<number> | undefined,
  ): IdentifiedItems {
    const firstDay = this.#of.firstDay ?? Number.NEGATIVE_INFINITY;
    const kept: number[] = [];
    for (const [item, day] of days.entries()) {
      const key = items.keys[item] as number;
      const isElsewhere = day === undefined ? undated?.has(key) : day < firstDay;
      if (isElsewhere) continue;
      if (day === undefined) undated?.add(key);
      kept.push(item);
    }
    return kept.length === items.count ? items : items.pick(kept);
  }
}

const NO_KEYS: ReadonlySet<number> = new Set();

/**
 * The day that a part of an export with partitions begins with, if it reaches a second into the day before
 * and that day has a part which ends at midnight.
 */
function firstDayOf(part: Part, parts: readonly Part[]): number | undefined {
  if (part.after?.fraction !== '') return undefined;
  const midnight = part.after.seconds + 1;
  if (startOfDay(dayOf(midnight)) !== midnight) return undefined;
  const endsThere = ({ before }: Part) => before.seconds === midnight && before.fraction === '';
  const hasDayBefore = parts.some(
    (one) =>
      one !== part && one.query === part.query && endsThere(one) && (!isSettled(one) || isSettled(part)),
  );
  return hasDayBefore ? dayOf(midnight) : undefined;
}
