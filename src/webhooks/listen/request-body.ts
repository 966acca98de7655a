import type { IncomingMessage } from 'node:http';

/** A chunk costs a hundred bytes beside its own: this many are put together at a time. */
const MANY = 1024;

/**
 * Calls `done` with the whole body, or with nothing when it has more than `limit` bytes; never when the sender goes away
 * before its end.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | undefined) => void,
): void {
  const whole: Buffer[] = [];
  let chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > limit) {
      request.off('data', onData).off('end', onEnd);
      done(undefined);
      return;
    }
    chunks.push(chunk);
    if (chunks.length < MANY) return;
    whole.push(Buffer.concat(chunks));
    chunks = [];
  };
  const onEnd = () => {
    const [only] = chunks;
    if (only && chunks.length === 1 && whole.length === 0) done(only);
    else done(Buffer.concat([...whole, ...chunks], length));
  };
  request.on('data', onData).once('end', onEnd);
}
