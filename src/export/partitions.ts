import { createdOnReader } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';

/* Parts in folders by UTC day, with Hive's names, which engines read as a column. */

/** Hive's name for rows without a value: events without a time. */
export const NO_DAY_FOLDER = 'date=__HIVE_DEFAULT_PARTITION__';
const FOLDER = /^date=(?:\d{4}-\d{2}-\d{2}|__HIVE_DEFAULT_PARTITION__)$/;
const DAY_SECONDS = 86_400;

export function isPartitionFolder(name: string): boolean {
  return FOLDER.test(name);
}

export function dayOf(seconds: number): number {
  return Math.floor(seconds / DAY_SECONDS);
}

export function startOfDay(day: number): number {
  return day * DAY_SECONDS;
}

export function folderOfDay(day: number): string {
  return `date=${new Date(startOfDay(day) * 1000).toISOString().slice(0, 10)}`;
}

export function createDayReader(): (bytes: Buffer, at: number) => number | undefined {
  const createdOn = createdOnReader();
  return (bytes, at) => {
    const time = createdOn(bytes, at);
    return time && dayOf(time.seconds);
  };
}

export function createSorter(): (items: Items) => ReadonlyMap<string, Items> {
  const readDay = createDayReader();
  return (items) => {
    const days = new Map<number | undefined, number[]>();
    for (let index = 0; index < items.count; index++) {
      const day = readDay(items.bytes, items.start(index));
      const indexes = days.get(day);
      if (indexes) indexes.push(index);
      else days.set(day, [index]);
    }
    const folders = new Map<string, Items>();
    for (const [day, indexes] of days) {
      const folder = day === undefined ? NO_DAY_FOLDER : folderOfDay(day);
      folders.set(folder, indexes.length === items.count ? items : items.pick(indexes));
    }
    return folders;
  };
}
