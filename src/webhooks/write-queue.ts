import { setImmediate } from 'node:timers/promises';

/** Serializes writes. Items added in one turn of the event loop, or during a write, share the next one. */
export function shareWrites<Item>(write: (items: readonly Item[]) => Promise<void>) {
  let waiting: Item[] = [];
  /** The write that the waiting items will share. */
  let next: Promise<void> | undefined;
  let latest: Promise<unknown> = Promise.resolve();
  let underWay = 0;

  async function inTurn(work: () => Promise<void>): Promise<void> {
    underWay++;
    const done = latest.then(work).finally(() => underWay--);
    latest = done.catch(() => undefined);
    await done;
  }

  function add(item: Item): Promise<void> {
    waiting.push(item);
    next ??= inTurn(async () => {
      await setImmediate();
      const items = waiting;
      waiting = [];
      next = undefined;
      await write(items);
    });
    return next;
  }

  return { add, inTurn, areWritten: () => underWay > 0 };
}
