import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

let collect: Collect | undefined;

/**
 * Collects young objects now. V8 does so when its own heap fills, which takes long where a read makes few objects and
 * much memory outside of it (the pieces that a socket delivers): left alone, tens of megabytes of those pile up. The
 * function is there behind a flag alone; without it nothing happens.
 */
export function collectYoungGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = (runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
  }
  collect({ type: 'minor' });
}
