import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { inOrder } from '../../src/events/get/in-order.ts';

const forever = new AbortController().signal;

describe('running jobs as they arrive', () => {
  test('hands results out in order, runs no more than its width, and reads no further than twice that', async () => {
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
    for await (const result of inOrder(jobs, run, () => 4, forever)) {
      given++;
      results.push(result);
    }
    expect(results).toEqual(Array.from({ length: 60 }, (_, job) => job * 2));
    expect(most).toBe(4);
  });

  test('an error of a job or of the source comes in its turn', async () => {
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
      for await (const result of inOrder(jobs, slow, () => 4, forever)) results.push(result);
    }).rejects.toThrow('source');
    expect(results).toEqual([1, 2]);
  });

  test('leaving early aborts what is under way and tells the source', async () => {
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
    for await (const result of inOrder(jobs, run, () => 3, forever)) {
      expect(result).toBe(0);
      await delay(1);
      break;
    }
    expect(aborted).toEqual([1, 2, 3]);
    expect(told?.aborted).toBe(true);
  });

  test('a signal ends it while it waits for the source', async () => {
    const abort = new AbortController();
    const never = async function* () {
      await new Promise(() => {});
      yield 1;
    };
    setTimeout(() => abort.abort(new Error('enough')), 5);
    await expect(async () => {
      for await (const _ of inOrder(
        never,
        async (job) => job,
        () => 3,
        abort.signal,
      ));
    }).rejects.toThrow('enough');
  });
});
