import type { KeepItems } from '../items/item-filter.ts';
import { createdOnReader } from '../items/item-times.ts';
import type { KeyedItems } from '../items/items.ts';
import { compareInstants } from '../time/instant.ts';
import type { Manifest } from './export-manifest.ts';
import { overlap, type Part } from './export-part.ts';
import { keysOf, keysWithoutDay } from './part-reader.ts';
import { createDayReader, dayOf } from './partitions.ts';

/*
 * Parts overlap by a second and are read concurrently. An event in several of them belongs to the first one
 * that claims it; parts read earlier have claimed the events in their files.
 */

export class PartClaims {
  readonly #directory: string;
  readonly #manifest: () => Manifest;
  readonly #keep: KeepItems | undefined;
  readonly #claims = new Map<number, PartClaim>();
  readonly #undated = new Map<number, Promise<Set<number>>>();

  constructor(directory: string, manifest: () => Manifest, keep: KeepItems | undefined) {
    this.#directory = directory;
    this.#manifest = manifest;
    this.#keep = keep;
  }

  /** Call `end` once the part is read or has failed. */
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

  /** Call once the part is in the manifest, or the round has failed. */
  end(index: number): void {
    this.#claims.get(index)?.end();
    for (const at of [index, ...this.#neighbours(index)]) {
      const { parts } = this.#manifest();
      const isNeeded = [at, ...this.#neighbours(at)].some((one) => !parts[one]?.read);
      if (!isNeeded) this.#claims.delete(at);
    }
  }

  async #addNeighbour(claim: PartClaim, part: Part, index: number): Promise<void> {
    const other = this.#manifest().parts[index] as Part;
    // An update reads events of settled parts again; they are removed from the settled parts later.
    if (other.isSettled && !part.isSettled) return;
    if (other.read && !this.#claims.has(index)) {
      claim.keysElsewhere.push(await keysOf(this.#directory, [other]));
      return;
    }
    const isOlder = compareInstants(other.before, part.before) < 0;
    // Looked up late, since the neighbour may begin later.
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
    const read = parts.filter((part) => part.query === query && part.read);
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
  /** False if no other part overlaps this one: the keys that it takes are not kept. */
  readonly isShared: boolean;
  /** With partitions: keys of the events without a time that some part of the query has taken. */
  readonly undated: (() => Promise<Set<number>>) | undefined;
  /** With partitions: events of days before this one belong to another part. */
  readonly firstDay: number | undefined;
}

export class PartClaim {
  readonly keysElsewhere: ReadonlySet<number>[] = [];
  readonly keys = new Set<number>();
  readonly neighbours: Neighbour[] = [];
  readonly #of: ClaimOf;
  readonly #createdOn = createdOnReader();
  readonly #readDay = createDayReader();
  #isFirstPage = true;
  #onPastHead: () => void = () => {};
  /** Resolves once the part is past the second that it shares with a newer part. */
  readonly pastHead: Promise<void>;

  constructor(of: ClaimOf) {
    this.#of = of;
    this.pastHead = new Promise((resolve) => {
      this.#onPastHead = resolve;
    });
  }

  async take(items: KeyedItems): Promise<KeyedItems> {
    await this.#turn();
    const days = this.#of.undated && this.#daysOf(items);
    const undated = days?.includes(undefined) ? await this.#of.undated?.() : undefined;
    // No await from here on, so no other part can claim these events meanwhile.
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
    this.#onPastHead();
  }

  /**
   * After its first page a part waits until the next older one has claimed the second they share, which keeps
   * events in order across files. Only newer parts wait for older ones, so there is no deadlock.
   */
  async #turn(): Promise<void> {
    const isFirst = this.#isFirstPage;
    this.#isFirstPage = false;
    if (isFirst) return;
    for (const { isOlder, find } of this.neighbours) if (isOlder) await find()?.pastHead;
  }

  /** The newest second has passed when a page ends with an event outside it. */
  #noticeHead(items: KeyedItems): void {
    if (items.count === 0) return;
    const last = this.#createdOn(items.bytes, items.start(items.count - 1));
    const end = this.#of.part.before;
    const isInHead = last && last.seconds >= end.seconds - 1 && compareInstants(last, end) < 0;
    if (!isInHead) this.end();
  }

  #daysOf(items: KeyedItems): (number | undefined)[] {
    return Array.from({ length: items.count }, (_, item) => this.#readDay(items.bytes, items.start(item)));
  }

  /**
   * Omits events of other parts regardless of reading order: those of the day before, in the overlapping
   * second, and events without a time that another part has.
   */
  #ofOwnDays(
    items: KeyedItems,
    days: readonly (number | undefined)[],
    undated: Set<number> | undefined,
  ): KeyedItems {
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

/** Undefined unless another part ends where this one begins. */
function firstDayOf(part: Part, parts: readonly Part[]): number | undefined {
  if (part.after?.fraction !== '') return undefined;
  const start = part.after.seconds + 1;
  const endsThere = ({ before }: Part) => before.seconds === start && before.fraction === '';
  const hasDayBefore = parts.some(
    (one) => one !== part && one.query === part.query && endsThere(one) && (!one.isSettled || part.isSettled),
  );
  return hasDayBefore ? dayOf(start) : undefined;
}
