import { afterEach, beforeEach } from 'vitest';

/** Starts something for each test of a file or a `describe`: the members are those of the running test's. */
export function forEachTest<Thing extends AsyncDisposable>(start: () => Promise<Thing>): Thing {
  let thing: Thing;
  beforeEach(async () => {
    thing = await start();
  });
  afterEach(() => thing[Symbol.asyncDispose]());
  return new Proxy({} as Thing, {
    get: (_, name) => Reflect.get(thing, name),
    set: (_, name, value) => Reflect.set(thing, name, value),
  });
}
