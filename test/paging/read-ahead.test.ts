import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readAhead } from '../../src/paging/read-ahead.ts';

const forever = new AbortController().signal;

describe('reading ahead', () => {
  test('requests the next one although the first is slow, and no more than twice its width', async () => {
    const asked: number[] = [];
    let release = (_: number) => {};
    const run = (job: number) => {
      asked.push(job);
      return job === 0
        ? new Promise<number>((resolve) => {
            release = resolve;
          })
        : delay(1, job);
    };
    const reading = readAhead(Array(40).keys(), run, () => 3, forever);
    const first = reading.next();
    // The job that is being awaited has left the queue.
    await expect.poll(() => asked).toEqual([0, 1, 2, 3, 4, 5, 6]);
    release(0);
    expect((await first).value).toEqual({ job: 0, result: 0 });
    await reading.return(undefined);
  });

  test('a failure is thrown in its turn, and requests in progress are aborted', async () => {
    const aborted: number[] = [];
    const run = async (job: number, signal: AbortSignal) => {
      if (job === 1) throw new Error('page 1');
      if (job > 1) signal.addEventListener('abort', () => aborted.push(job));
      if (job > 1) await delay(1000, undefined, { signal, ref: false });
      return job;
    };
    const seen: number[] = [];
    const read = async () => {
      for await (const { job } of readAhead(Array(9).keys(), run, () => 3, forever)) seen.push(job);
    };
    await expect(read()).rejects.toThrow('page 1');
    expect(seen).toEqual([0]);
    expect(aborted.length).toBeGreaterThan(0);
  });

  test('an interrupt that came before the first request ends it', async () => {
    const asked: number[] = [];
    const run = async (job: number) => void asked.push(job);
    const reading = readAhead(Array(9).keys(), run, () => 3, AbortSignal.abort(new Error('interrupted')));
    await expect(reading.next()).rejects.toThrow('interrupted');
    expect(asked).toEqual([]);
  });

  test('a narrower width takes effect with the next request', async () => {
    let width = 4;
    let underWay = 0;
    const seen: number[] = [];
    const run = async () => {
      seen.push(++underWay);
      await delay(1);
      underWay--;
    };
    let handedOut = 0;
    for await (const _ of readAhead(Array(30).keys(), run, () => width, forever)) {
      if (++handedOut === 4) width = 1;
    }
    expect(Math.max(...seen.slice(0, 4))).toBe(4);
    expect(Math.max(...seen.slice(12))).toBe(1);
  });
});

describe('running jobs as they arrive', () => {
  test('returns results in order, runs no more than its width, and reads no further than twice that', async () => {
    let underWay = 0;
    let most = 0;
    let pulled = 0;
    let given = 0;
    async function* jobs() {
      for (let job = 0; job < 60; job++) {
        pulled++;
        expect(pulled - given).toBeLessThanOrEqual(2 * 4 + 1);
        yield job;
      }
    }
    const run = async (job: number) => {
      most = Math.max(most, ++underWay);
      await delay((job * 7) % 5);
      underWay--;
      return job * 2;
    };
    const results: number[] = [];
    for await (const { result } of readAhead(jobs, run, () => 4, forever)) {
      given++;
      results.push(result);
    }
    expect(results).toEqual(Array.from({ length: 60 }, (_, job) => job * 2));
    expect(most).toBe(4);
  });

  test('an error of a job or of the source is thrown in its turn', async () => {
    async function* jobs() {
      yield 1;
      yield 2;
      throw new Error('source');
    }
    const results: number[] = [];
    const slow = async (job: number) => {
      await delay(5);
      return job;
    };
    await expect(async () => {
      for await (const { result } of readAhead(jobs, slow, () => 4, forever)) results.push(result);
    }).rejects.toThrow('source');
    expect(results).toEqual([1, 2]);
  });

  test('leaving early aborts jobs in progress and stops the source', async () => {
    let told: AbortSignal | undefined;
    const aborted: number[] = [];
    async function* jobs(ending: AbortSignal) {
      told = ending;
      for (let job = 0; ; job++) yield job;
    }
    const run = (job: number, signal: AbortSignal) =>
      job === 0
        ? Promise.resolve(job)
        : new Promise<number>((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(job);
              reject(signal.reason);
            });
          });
    for await (const { result } of readAhead(jobs, run, () => 3, forever)) {
      expect(result).toBe(0);
      await delay(1);
      break;
    }
    expect(aborted).toEqual([1, 2, 3]);
    expect(told?.aborted).toBe(true);
  });

  test('a job that the source gives after the end is not run', async () => {
    async function* jobs(ending: AbortSignal) {
      yield 0;
      await once(ending, 'abort');
      yield 1;
    }
    const ran: number[] = [];
    const run = async (job: number) => void ran.push(job);
    for await (const _ of readAhead(jobs, run, () => 3, forever)) break;
    await delay(1);
    expect(ran).toEqual([0]);
  });

  test('a signal ends it while it waits for the source', async () => {
    const abort = new AbortController();
    const never = async function* () {
      await new Promise(() => {});
      yield 1;
    };
    setTimeout(() => abort.abort(new Error('enough')), 5);
    await expect(async () => {
      for await (const _ of readAhead(
        never,
        async (job) => job,
        () => 3,
        abort.signal,
      ));
    }).rejects.toThrow('enough');
  });
});
