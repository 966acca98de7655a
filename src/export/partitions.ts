import { createdOnReader } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';

/*
 * The parts of an export with partitions lie in folders by day, named as Hive names them: engines read the
 * name as a column. Days are in UTC.
 */

/** Where Hive keeps rows whose column has no value: events without a time. */
export const NO_DAY_FOLDER = 'date=__HIVE_DEFAULT_PARTITION__';
const FOLDER = /^date=(?:\d{4}-\d{2}-\d{2}|__HIVE_DEFAULT_PARTITION__)$/;
const DAY_SECONDS = 86_400;

/** True for the name of a folder that an export with partitions may have. */
export function isPartitionFolder(name: string): boolean {
  return FOLDER.test(name);
}

/** The number of the UTC day that a second belongs to, counted from the epoch. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / DAY_SECONDS);
}

/** The first second of a day, counted as `dayOf` does. */
export function startOfDay(day: number): number {
  return day * DAY_SECONDS;
}

/** The folder of a day, counted as `dayOf` does. */
export function folderOfDay(day: number): string {
  return `date=${new Date(startOfDay(day) * 1000).toISOString().slice(0, 10)}`;
}

/**
 * Returns a function that gives the day of the item at an offset; undefined if `createdOn` is missing or not
 * a time.
 */
export function createDayReader(): (bytes: Buffer, at: number) => number | undefined {
  const createdOn = createdOnReader();
  return (bytes, at) => {
    const time = createdOn(bytes, at);
    return time && dayOf(time.seconds);
  };
}

/**
 * Returns a function that sorts items into the folders that they belong to, each in the order in which they
 * came.
 */
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
