import type { Items } from './items.ts';
import { stringEnd, stringText, valueEnd } from './json-bytes.ts';

/** The members of a page's items, from which columns are chosen. */
export interface Members {
  /** Names in the order of first appearance; true if a value was seen that is neither null nor nested. */
  readonly names: ReadonlyMap<string, boolean>;
  /** True if an item is not an object. */
  readonly bare: boolean;
}

export function membersOf(items: Items): Members {
  const { bytes, count } = items;
  const names = new Map<string, boolean>();
  let bare = false;
  for (let item = 0; item < count; item++) {
    let index = items.start(item);
    if (bytes[index] !== 0x7b) {
      bare = true;
      continue;
    }
    if (bytes[index + 1] === 0x7d) continue;
    do {
      const nameEnd = stringEnd(bytes, index + 1);
      const name = stringText(bytes, index + 1, nameEnd);
      const first = bytes[nameEnd + 1];
      const scalar = first !== 0x7b && first !== 0x5b && first !== 0x6e;
      if (scalar || !names.has(name)) names.set(name, scalar);
      index = valueEnd(bytes, nameEnd + 1);
    } while (bytes[index] === 0x2c);
  }
  return { names, bare };
}
